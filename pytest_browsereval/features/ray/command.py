"""``ray``: an eval in parts on a cluster of Ray, as one run."""

from __future__ import annotations

import argparse
import os
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_browsereval.commands.base import Command
from pytest_browsereval.errors import UsageError


def ray(arguments: argparse.Namespace) -> int:
    """Run the parts, merge them, and return pytest's exit code.

    Raises:
        UsageError: something is refused, before anything is spent.
    """
    from importlib.util import find_spec

    from pytest_browsereval.features.ray.ending import INTERRUPTED

    if find_spec("ray") is None:
        raise UsageError("this command needs an extra. Run `pip install 'pytest-browsereval[ray]'`")
    try:
        return _run(arguments)
    except (KeyboardInterrupt, SystemExit) as end:
        if isinstance(end, SystemExit) and end.code != signal.SIGTERM:  # what Ray makes of it as it starts
            raise
        print("interrupted")
        return INTERRUPTED


def _run(arguments: argparse.Namespace) -> int:
    from pytest_browsereval.features.ray import tasks
    from pytest_browsereval.features.ray.ending import finish
    from pytest_browsereval.features.ray.request import read_request

    checked = read_request(arguments)
    request, ended = checked.request, tasks.Ended()
    print(f"run {request.name} in {request.of} parts, {len(checked.done)} of them done: {checked.url}")
    if numbers := [number for number in range(1, request.of + 1) if number not in checked.done]:
        copied = None
        if arguments.address is not None and arguments.working_dir is not None:
            copied = arguments.working_dir.absolute()
            request = replace(request, config=os.path.relpath(request.config, copied), folder=None)
        with (
            tasks.connected(arguments.address, copied, checked.results.parent),
            tasks.ending_signals(),  # Ray has set handlers of its own
        ):
            ended = tasks.run_parts(request, numbers, arguments.cpus, arguments.max_retries)
    return finish(checked, ended, arguments)


def _arguments(parser: argparse.ArgumentParser) -> None:
    from pytest_browsereval.hooks.names import positive_integer

    add = parser.add_argument
    add("config", metavar="CONFIG", type=Path, help="the config of the eval")
    text = "how many parts to divide the rows into"
    add("--parts", metavar="N", type=positive_integer, required=True, help=text)
    text = "a bucket, or a folder that all nodes share, for the parts (default: a folder next to the results)"
    add("--output", metavar="URL", help=text)
    add(
        "--name",
        help="the name of the run; with that of an earlier run, what it lacks is run (default: a new id)",
    )
    text = "continue the run with that name, even if all its parts are done: it is merged and decided"
    add("--again", action="store_true", help=text)
    add(
        "--address",
        help="the address of a cluster, such as auto on one of its nodes (default: one on this machine)",
    )
    text = "cores for each part (default: %(default)g)"
    add("--cpus", metavar="N", type=float, default=1.0, help=text)
    text = "how often to restart a part if its node or worker dies (default: %(default)s)"
    add("--max-retries", metavar="N", type=int, default=3, help=text)
    text = "have Ray copy this folder, with the config, to all nodes"
    add("--working-dir", metavar="FOLDER", type=Path, help=text)
    text = "pass this environment variable to the nodes, such as the key of a model (repeatable)"
    add("--env", metavar="NAME", action="append", default=[], help=text)
    text = "write trials and rules as a JUnit file for CI systems"
    add("--junit-xml", metavar="FILE", type=Path, help=text)
    parser.epilog = "What follows -- are pytest options for all parts: -- -k checkout --eval-trials=3"
    parse = parser.parse_known_args

    def parse_first(args: Any = None, namespace: Any = None) -> Any:
        """Have what follows ``--`` be pytest's: argparse would take its options for ours."""
        words = list(args)
        place = words.index("--") if "--" in words else len(words)
        found, unknown = parse(words[:place], namespace)
        found.words, found.pytest_options = words[:place], words[place + 1 :]
        return found, unknown

    parser.parse_known_args = parse_first  # type: ignore[method-assign]


COMMANDS = (
    Command(
        "ray",
        "run an eval in parts on a Ray cluster, or on this machine's cores, as one run",
        ray,
        _arguments,
        group="machines",
    ),
)
