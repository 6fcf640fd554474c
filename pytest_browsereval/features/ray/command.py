"""``ray``: an eval in parts on a cluster of Ray, as one run."""

from __future__ import annotations

import argparse
import signal
from pathlib import Path
from typing import Any

from pytest_browsereval.commands.base import Command
from pytest_browsereval.features.ray.request import DEFAULTS

INTERRUPTED = 2
"""The exit code, as pytest has it."""


def ray(arguments: argparse.Namespace) -> int:
    """Run the parts, merge them, and return pytest's exit code.

    Raises:
        UsageError: something is refused, before anything is spent.
    """
    from pytest_browsereval.features.ray.cluster import ending_signals

    try:
        with ending_signals():
            return _run(arguments)
    except (KeyboardInterrupt, SystemExit) as end:
        if isinstance(end, SystemExit) and end.code != signal.SIGTERM:  # what Ray makes of it as it starts
            raise
        print("interrupted")
        return INTERRUPTED


def _run(arguments: argparse.Namespace) -> int:
    from pytest_browsereval.features.ray import cluster
    from pytest_browsereval.features.ray.ending import describe_interrupt, finish
    from pytest_browsereval.features.ray.preflight import check_nodes, check_request, read_request
    from pytest_browsereval.features.ray.progress import Progress

    checked = read_request(arguments)
    cluster.check_installed()
    checked = check_request(checked, is_named=arguments.name is not None)
    request = checked.request
    print(f"run {request.name} in {request.of} parts, {len(checked.done)} of them done: {checked.run_url}")
    numbers = [number for number in range(1, request.of + 1) if number not in checked.done]
    ended = cluster.Ended()
    if numbers:
        is_far = arguments.address is not None
        copied = arguments.working_dir.absolute() if is_far and arguments.working_dir else None
        with cluster.connected(arguments.address, copied, checked.config.output_dir):
            if is_far:
                request = check_nodes(checked, is_copied=copied is not None)
            resources = cluster.Resources(arguments.cpus, arguments.max_retries)
            ended = cluster.run_parts(request, numbers, resources, Progress(request.of))
    if ended.is_interrupted:
        describe_interrupt(checked, ended, arguments)
        return INTERRUPTED
    return finish(checked, ended, arguments)


def _number(text: str) -> float:
    """Return a number above 0.

    Raises:
        ValueError: it is none.
    """
    number = float(text)
    if not 0 < number < 10_000:
        raise ValueError(text)
    return number


def _count(text: str) -> int:
    """Return 0 or more.

    Raises:
        ValueError: it is less.
    """
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


_number.__name__, _count.__name__ = "number", "count"  # as argparse names them


def _arguments(parser: argparse.ArgumentParser) -> None:
    from pytest_browsereval.hooks.names import positive_integer

    parser.add_argument("config", metavar="CONFIG", type=Path, help="the config of the eval")
    parser.add_argument(
        "--parts",
        metavar="N",
        type=positive_integer,
        required=True,
        help="how many parts to divide the rows into",
    )
    parser.add_argument(
        "--output",
        metavar="URL",
        help="where the parts go: a bucket, or a folder that all nodes share (default: a folder beside the "
        "other results)",
    )
    parser.add_argument(
        "--name", help="of the run; that of an earlier one runs what it lacks (default: a new id)"
    )
    parser.add_argument(
        "--again",
        action="store_true",
        help="go on with the run of that name, also if all of its parts are done: it is merged and decided",
    )
    parser.add_argument(
        "--address", help="of a cluster, such as auto on one of its nodes (default: one on this machine)"
    )
    parser.add_argument(
        "--cpus",
        metavar="N",
        type=_number,
        default=DEFAULTS["cpus"],
        help="cores that a part takes (default: %(default)g)",
    )
    parser.add_argument(
        "--max-retries",
        metavar="N",
        type=_count,
        default=DEFAULTS["max_retries"],
        help="how often a part is started again whose node or worker has died (default: %(default)s)",
    )
    parser.add_argument(
        "--working-dir",
        metavar="FOLDER",
        type=Path,
        help="have Ray copy this folder, with the config, to all nodes",
    )
    parser.add_argument(
        "--env",
        metavar="NAME",
        action="append",
        default=[],
        help="give nodes this variable of this machine, such as the key of a model (repeatable)",
    )
    parser.add_argument(
        "--junit-xml", metavar="FILE", type=Path, help="write trials and rules as a JUnit file for CI systems"
    )
    parser.epilog = "What follows -- are options of pytest for all parts: -- -k checkout --eval-trials=3"
    _take_rest(parser)


def _take_rest(parser: argparse.ArgumentParser) -> None:
    """Have what follows ``--`` be pytest's: argparse would take its options for ours."""
    parse = parser.parse_known_args

    def parse_first(args: Any = None, namespace: Any = None) -> Any:
        words = list(args)
        place = words.index("--") if "--" in words else len(words)
        found, unknown = parse(words[:place], namespace)
        found.pytest_options = words[place + 1 :]
        return found, unknown

    parser.parse_known_args = parse_first  # type: ignore[method-assign]


COMMANDS = (
    Command(
        "ray",
        "run an eval in parts on a cluster of Ray, or on this machine's cores, as one run",
        ray,
        _arguments,
    ),
)
