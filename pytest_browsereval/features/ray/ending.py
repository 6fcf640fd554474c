"""What comes of the parts: one run, its page, its gate, and pytest's exit code."""

from __future__ import annotations

import argparse
import itertools
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.analysis.parts import lacking
from pytest_browsereval.analysis.summary import RunSummary, summary_of
from pytest_browsereval.commands.base import run_command
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.ray.preflight import Checked, find_parts
from pytest_browsereval.features.ray.request import DEFAULTS
from pytest_browsereval.model.display import format_count, join_first, one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run.store import RunStore

if TYPE_CHECKING:
    from pytest_browsereval.features.ray.cluster import Ended

PASSED, FAILED, INCOMPLETE, REFUSED = 0, 1, 3, 4
"""Exit codes, as pytest has them."""
LISTED = 20
"""Parts that are named; the rest is counted."""


@dataclass(frozen=True)
class Outcome:
    """Which parts there are at the URL."""

    done: tuple[int, ...]
    empty: tuple[int, ...]
    """Parts without a row."""
    missing: tuple[int, ...]


def find_outcome(checked: Checked, ended: Ended) -> Outcome:
    """Return which parts count: what lies at the URL decides, whatever a task has said.

    Raises:
        UsageError: the bucket cannot be read.
    """
    done = set(find_parts(checked).done)
    empty = {number for number, result in ended.results.items() if result.code == 5} - done
    missing = set(range(1, checked.request.of + 1)) - done - empty
    return Outcome(*(tuple(sorted(some)) for some in (done, empty, missing)))


def finish(checked: Checked, ended: Ended, arguments: argparse.Namespace) -> int:
    """Merge what there is, decide, write the reports, and return the exit code.

    Args:
        checked: the request.
        ended: what has become of the parts.
        arguments: of the command line, as it was typed.
    """
    try:
        return _finish(checked, ended, find_outcome(checked, ended), arguments)
    except UsageError as error:  # not wrong usage any more: rows have been run
        _say(f"the run cannot be decided: {error}")
        _say("try again:")
        _say(f"  {again(checked, arguments)}")
        return INCOMPLETE


def _finish(checked: Checked, ended: Ended, outcome: Outcome, arguments: argparse.Namespace) -> int:
    for line in _describe_problems(ended, outcome):
        _say(line)
    has_run = any(one.code != 5 for one in ended.results.values())
    whole = _find_whole(checked.home / checked.request.name)
    if not (has_run or outcome.missing) and not (arguments.again and whole is None):
        # Else a name that is never changed would be green each night without a run.
        _say(f"{checked.run_url} was done already, and nothing was run. Take another --name for another run.")
        words = ["browsereval", "gate", str(whole), "--config", str(checked.config.path)]
        command = again(checked, arguments) if whole is None else shlex.join(words)
        _say(f"to decide about this one again: {command}")
        return REFUSED
    code = PASSED
    if outcome.missing:
        code = INCOMPLETE
        _say(f"{describe_parts(outcome.missing)} of {checked.request.of} missing, so the run is not complete")
        _say("go on with it:")
        _say(f"  {again(checked, arguments)}")
    if not outcome.done or (outcome.missing and len(outcome.done) == 1):  # nothing to merge it with
        return INCOMPLETE
    target = next(it for it in _list_folders(checked.home / checked.request.name) if not it.exists())
    parts = [f"{checked.run_url}/parts/{number}-of-{checked.request.of}" for number in outcome.done]
    partial = ["--partial"] if outcome.missing else []
    run_command(checked.door, "merge", *parts, "-o", str(target), *partial)
    _say(f"page: {target / 'index.html'}")
    gate = _decide(checked, target, arguments)
    return code or _judge(checked, ended, target) or gate


def _list_folders(target: Path) -> Iterator[Path]:
    """Yield where the merged run may go: an earlier session may have merged some or all of the parts."""
    yield target
    yield from (target.with_name(f"{target.name}-{number}") for number in itertools.count(2))


def _find_whole(target: Path) -> Path | None:
    """Return the folder of the run where an earlier session has merged all of it; else None."""
    for folder in itertools.takewhile(Path.exists, _list_folders(target)):
        store = RunStore(folder)
        with suppress(UsageError):
            if lacking(store, summary_of(store)) is None:
                return folder
    return None


def _decide(checked: Checked, run: Path, arguments: argparse.Namespace) -> int:
    words = [str(run), "--config", str(checked.config.path)]
    for one in checked.options.gate_sets:
        words += ["--eval-set", one]
    if checked.options.baseline is not None:
        words += ["--baseline", checked.options.baseline]
    if arguments.junit_xml is not None:
        words += ["--junit-xml", str(arguments.junit_xml)]
    return run_command(checked.door, "gate", *words)


def _judge(checked: Checked, ended: Ended, run: Path) -> int:
    """Return the exit code of the rows, and of tests beside them, that no gate decides about."""
    store = RunStore(run)
    summary = summary_of(store)
    if lacking(store, summary) is not None:
        return INCOMPLETE
    if not summary.trials:
        return INCOMPLETE
    least, most = checked.trials
    there = store.count_selected()
    if there is None or not least <= there <= most:
        _say(
            f"the run has {there} trials and this command selects {most}: parts were made with "
            "other options (-k, --eval-limit) or other rows. Take another --name."
        )
        return INCOMPLETE
    for result in ended.results.values():
        if result.code == 1 and result.state.passed == result.state.trials:
            _say(f"part {result.number} has failed although all of its rows passed: {_last(result.tail)}")
            return FAILED
    return PASSED if checked.config.is_gated or _has_passed(summary) else FAILED


def _has_passed(summary: RunSummary) -> bool:
    return all(trial.metadata.verdict is Verdict.PASSED for trial in summary.trials)


def _describe_problems(ended: Ended, outcome: Outcome) -> Iterator[str]:
    """Yield why parts are missing, with the end of what pytest has said of each."""
    for number, why in sorted(ended.failures.items()):
        if number in outcome.missing:
            yield f"part {number}: no result: {why}"
    for number, result in sorted(ended.results.items()):
        if number not in outcome.missing:
            continue
        yield f"part {number}: {result.stopped or f'exit code {result.code}'}. The last lines of pytest:"
        yield from (f"  {line}" for line in result.tail[-10:])
        if result.folder:
            yield f"  its run folder is still on the node: {result.folder}"
    if ended.not_begun:
        yield f"not begun, since the budget is used up: {describe_parts(sorted(ended.not_begun))}"


def describe_parts(numbers: tuple[int, ...] | list[int]) -> str:
    """Return the names of parts: ``parts 2, 5``."""
    names = join_first([str(number) for number in numbers], LISTED)
    return f"{'part' if len(numbers) == 1 else 'parts'} {names}"


def describe_interrupt(checked: Checked, ended: Ended, arguments: argparse.Namespace) -> None:
    """Say what is finished and what to type to go on."""
    count = len(checked.done) + sum(
        one.code in (0, 1, 5) and not one.stopped for one in ended.results.values()
    )
    _say(f"interrupted: {format_count(count, 'part')} of {checked.request.of} done, all others ended")
    _say("go on with it:")
    _say(f"  {again(checked, arguments)}")


def again(checked: Checked, arguments: argparse.Namespace) -> str:
    """Return what to type to run the parts that are missing."""
    words = ["browsereval", "ray", str(arguments.config), "--parts", str(checked.request.of)]
    words += ["--name", checked.request.name, "--again"]
    for option in ("output", "address", "working_dir", "cpus", "max_retries", "junit_xml"):
        value = getattr(arguments, option)
        if value not in (None, DEFAULTS.get(option)):
            words += [f"--{option.replace('_', '-')}", str(value)]
    for name in arguments.env:
        words += ["--env", name]
    if arguments.pytest_options:
        words += ["--", *_name_division(arguments.pytest_options, checked.request.shard_by)]
    return shlex.join(words)


def _name_division(options: Sequence[str], run: str | None) -> Iterator[str]:
    """Yield options of pytest, with the run that rows were divided by: *latest* is another one by then."""
    words = iter(options)
    for word in words:
        if word.partition("=")[0] != "--eval-shard-by":
            yield word
        else:
            yield f"--eval-shard-by={run}"
            if "=" not in word:
                next(words)


def _last(tail: tuple[str, ...]) -> str:
    return tail[-1] if tail else "pytest has said nothing"


def _say(text: str) -> None:
    encoding = sys.stdout.encoding or "utf-8"
    line = one_line(text, 2_000)
    sys.stdout.write(line.encode(encoding, "replace").decode(encoding) + "\n")
    sys.stdout.flush()
