"""What comes of the parts: one run, its page, its gate, and pytest's exit code."""

from __future__ import annotations

import argparse
import itertools
import shlex
import sys
from typing import TYPE_CHECKING

from pytest_browsereval.analysis.parts import lacking
from pytest_browsereval.commands.base import run_command
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.ray.request import Checked, find_done
from pytest_browsereval.model.display import join_first, one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.run import StoredRun

if TYPE_CHECKING:
    from pytest_browsereval.features.ray.tasks import Ended

PASSED, FAILED, INTERRUPTED, INCOMPLETE, REFUSED = range(5)
"""Exit codes, as pytest has them."""
LISTED = 20
"""Parts that are named; the rest is counted."""


def finish(checked: Checked, ended: Ended, arguments: argparse.Namespace) -> int:
    """Merge what there is, decide, write the reports, and return the exit code.

    Args:
        checked: what was asked for.
        ended: what has become of the parts.
        arguments: of the command line, as it was typed.
    """
    again = _tell_again(checked, arguments)
    if ended.is_interrupted:
        count = len(checked.done) + len(ended.results)
        _say(f"interrupted: {count} of {checked.request.of} parts have ended", again)
        return INTERRUPTED
    try:
        return _finish(checked, ended, arguments, again)
    except UsageError as error:  # not wrong usage any more: rows have been run
        _say(f"the run cannot be decided: {error}", again)
        return INCOMPLETE


def _finish(checked: Checked, ended: Ended, arguments: argparse.Namespace, again: str) -> int:
    of = checked.request.of
    # Asked again: a task may have died after its part was done.
    done = sorted(find_done(checked.door, checked.request, checked.results.name).done)
    empty = {number for number, result in ended.results.items() if result.code == 5}
    missing = [number for number in range(1, of + 1) if number not in done and number not in empty]
    if not (missing or arguments.again) and checked.done.issuperset(done):
        # Else a name that is never changed would be green each night without a run.
        _say(
            f"{checked.url} was done already, and nothing was run. Take another --name for another run. To "
            "decide about this one again:",
            again,
        )
        return REFUSED
    for number in missing:
        _say(*_describe_problem(ended, number))
    if missing:
        named = f"{'part' if len(missing) == 1 else 'parts'} {join_first([*map(str, missing)], LISTED)}"
        _say(f"{named} of {of} missing, so the run is not complete. Go on with it:", again)
    if not done or (missing and len(done) == 1):  # nothing to merge it with
        return INCOMPLETE
    name = checked.request.name
    suffixes = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    tries = (checked.results / f"{name}{suffix}" for suffix in suffixes)
    target = next(one for one in tries if not one.exists())
    parts = [f"{checked.url}/parts/{number}-of-{of}" for number in done]
    run_command(checked.door, "merge", *parts, "-o", str(target), *(["--partial"] if missing else []))
    _say(f"page: {target / 'index.html'}")
    more = [] if arguments.junit_xml is None else ["--junit-xml", str(arguments.junit_xml)]
    rules = (
        checked.gate if checked.plan["is_gated"] else ("--eval-set", "gate={}")
    )  # figures, and no broken row
    words = ("gate", str(target), "--config", str(arguments.config.absolute()), *rules, *more)
    gate = run_command(checked.door, *words)
    return INCOMPLETE if missing else _judge(checked, ended, StoredRun(target)) or gate


def _judge(checked: Checked, ended: Ended, run: StoredRun) -> int:
    """Return the exit code of what no gate decides about."""
    there, trials = run.count_selected(), checked.plan["trials"]
    if lacking(run) is not None or not run.trials:
        return INCOMPLETE
    if there is None or not trials["least"] <= there <= trials["most"]:
        _say(
            f"the run has {there} trials and this command selects {trials['most']}: parts were made "
            "with other options (-k, --eval-limit) or other rows. Use another --name."
        )
        return INCOMPLETE
    for number, result in ended.results.items():
        if result.code == FAILED and result.passed == result.trials:
            _say(f"part {number} has failed although all of its rows passed: {''.join(result.tail[-1:])}")
            return FAILED
    has_passed = all(trial.verdict is Verdict.PASSED for trial in run.trials)
    return PASSED if checked.plan["is_gated"] or has_passed else FAILED


def _describe_problem(ended: Ended, number: int) -> list[str]:
    """Return why a part is missing, with the end of what pytest has said of it."""
    if (result := ended.results.get(number)) is None:
        return [f"part {number}: no result: {ended.failures.get(number, 'it was not run')}"]
    lines = [f"part {number}: exit code {result.code}. The last lines of pytest:"]
    lines += [f"  {line}" for line in result.tail[-10:]]
    return lines + [f"  its run folder is still on the node: {result.folder}"] * bool(result.folder)


def _tell_again(checked: Checked, arguments: argparse.Namespace) -> str:
    """Return what to type to run the parts that are missing."""
    words = ["browsereval", "ray", *arguments.words]
    words += ["--name", checked.request.name] if arguments.name is None else []
    words += [] if arguments.again else ["--again"]
    words += ["--", *arguments.pytest_options] if arguments.pytest_options else []
    return f"  {shlex.join(words)}"


def _say(*lines: str) -> None:
    for line in lines:
        sys.stdout.write(f"{one_line(line, 2_000)}\n")
    sys.stdout.flush()
