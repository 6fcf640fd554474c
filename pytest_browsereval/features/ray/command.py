"""``ray``: an eval in parts on a cluster of Ray, as one run."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.commands.base import Command, run_command
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.display import format_count, one_line

if TYPE_CHECKING:
    from pytest_browsereval.door import Door
    from pytest_browsereval.features.ray.request import Request
    from pytest_browsereval.features.ray.tasks import PartResult

PASSED, FAILED, INTERRUPTED, INCOMPLETE, REFUSED = range(5)
"""Exit codes, as pytest has them."""


def ray(arguments: argparse.Namespace) -> int:
    """Run the parts, merge them, and return pytest's exit code.

    Raises:
        UsageError: something is refused, before anything is spent.
    """
    from importlib.util import find_spec

    from pytest_browsereval.features.ray import tasks
    from pytest_browsereval.features.ray.request import read_request

    if find_spec("ray") is None:
        raise UsageError("this command needs an extra. Run `pip install 'pytest-browsereval[ray]'`")
    request = read_request(arguments)
    before = frozenset(request.find_done(arguments.door))
    words = ["browsereval", "ray", *arguments.words]
    words += ["--name", request.name] if arguments.name is None else []
    words += [] if arguments.again else ["--again"]
    words += ["--", *arguments.pytest_options] if arguments.pytest_options else []
    again = f"  {shlex.join(words)}"
    _say(f"run {request.name} in {request.of} parts, {len(before)} of them done: {request.place}")
    numbers, results = [number for number in range(1, request.of + 1) if number not in before], {}
    try:
        if numbers:
            with tasks.connected(arguments.address):
                results = tasks.run_parts(request, numbers, arguments.cpus)
    except (KeyboardInterrupt, SystemExit):  # Ray makes the second of SIGTERM while it starts
        _say("interrupted. To continue:", again)
        return INTERRUPTED
    try:
        done = sorted(request.find_done(arguments.door))  # a task may have died after its part was done
        empty = {number for number, result in results.items() if result.code == 5}
        missing = [number for number in numbers if number not in empty.union(done)]
        if not (missing or arguments.again) and before.issuperset(done):
            # Else a name that is never changed would be green each night without a run.
            _say(
                f"{request.place} was done already, and nothing was run. Use another --name for another "
                "run. To apply the gate to this one again:",
                again,
            )
            return REFUSED
        for number in missing:
            result = results[number]
            _say(f"part {number}: {result}", *result.tail)
        if missing:
            counts = f"{len(missing)} of {format_count(request.of, 'part')}"
            _say(f"{counts} missing, so the run is not complete. To continue:", again)
        if not done or (missing and len(done) == 1):  # nothing to merge it with
            return INCOMPLETE
        code = _decide(request, arguments.door, done, results, is_whole=not missing)
    except UsageError as error:  # not wrong usage any more: rows have been run
        _say(f"the run cannot be decided: {error}", again)
        return INCOMPLETE
    return INCOMPLETE if missing else code


def _decide(
    request: Request, door: Door, done: Sequence[int], results: Mapping[int, PartResult], *, is_whole: bool
) -> int:
    """Merge what is done, have the gate decide, and return the exit code of a whole run."""
    from pytest_browsereval.analysis.parts import lacking
    from pytest_browsereval.model.grades import Verdict
    from pytest_browsereval.run.store import new_run_id
    from pytest_browsereval.runs.run import StoredRun

    target = request.results / request.name
    if target.exists():
        target = target.with_name(f"{request.name}-{new_run_id()}")
    parts = [f"{request.place}/parts/{number}-of-{request.of}" for number in done]
    run_command(door, "merge", *parts, "-o", str(target), *([] if is_whole else ["--partial"]))
    _say(f"page: {target / 'index.html'}")
    gate = run_command(door, "gate", str(target), *request.rules)
    run = StoredRun(target)
    there, trials = run.count_selected(), request.plan["trials"]
    if lacking(run) is not None or not run.trials:  # of a part that is missing, too
        return INCOMPLETE
    if there is None or not trials["least"] <= there <= trials["most"]:
        _say(
            f"the run has {there} trials and this command selects {trials['most']}: parts were made "
            "with other options (-k, --eval-limit) or other rows. Use another --name."
        )
        return INCOMPLETE
    for number, result in results.items():
        if result.code == FAILED and result.passed == result.trials:
            _say(f"part {number} has failed although all of its rows passed:", *result.tail[-1:])
            return FAILED
    has_passed = all(trial.verdict is Verdict.PASSED for trial in run.trials)
    return gate or (PASSED if request.plan["is_gated"] or has_passed else FAILED)


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{one_line(line, 2_000)}\n")
    sys.stdout.flush()


def _arguments(parser: argparse.ArgumentParser) -> None:
    from pytest_browsereval.hooks.names import positive_integer

    add = parser.add_argument
    add("config", metavar="CONFIG", type=Path, help="the config of the eval")
    text = "how many parts to divide the rows into"
    add("--parts", metavar="N", type=positive_integer, required=True, help=text)
    text = "a bucket, or a folder that all nodes share, for the parts (default: a folder next to the results)"
    add("--output", metavar="URL", help=text)
    text = "the run's name; that of an earlier run resumes it (default: a new id)"
    add("--name", help=text)
    text = "continue the run with that name, even if its parts are done: merge and gate it"
    add("--again", action="store_true", help=text)
    text = "the address of a cluster, such as auto on one of its nodes (default: one on this machine)"
    add("--address", help=text)
    text = "cores for each part (default: %(default)s)"
    add("--cpus", metavar="N", type=positive_integer, default=1, help=text)
    text = "pass this environment variable to the nodes, such as the key of a model (repeatable)"
    add("--env", metavar="NAME", action="append", default=[], help=text)
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
