"""Whether a folder is one of a run, and whether the lines of its attempts and its summary say the same."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_browsereval.analysis.gate import NAMED
from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.display import join_first, one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.run.manifest import check_manifest
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.summary import RunSummary
from pytest_browsereval.runs.summary_file import FIGURES, SUMMARY, Result, read_figures, read_results
from pytest_browsereval.runs.trial import StoredTrial


def contradicting(run: StoredRun) -> RuleResult | None:
    """Return a rule that is missed where files of a run contradict each other; None if they do not."""
    message = _describe(list(_list_contradictions(run)))  # what has no record misses the rule complete
    return RuleResult("records", is_met=False, message=message) if message else None


def describe_contradictions(run: StoredRun) -> str:
    """Return the first contradictions and what to do; "" if there are none.

    Results without a record are among them: what a run has lost cannot regress against it.
    """
    return _describe(list(_list_contradictions(run, with_lost=True)))


def check_run(run: StoredRun) -> None:
    """Check that a folder is one of a run, with a manifest that can be read.

    Raises:
        UsageError: with what it lacks.
    """
    if not (run.folder / "tasks").is_dir():
        message = "has no `tasks/`" if run.folder.is_dir() else "is not a folder"
        shown = format_path(run.folder)
        raise UsageError(f"{shown} {message}: give a run folder, results/NAME/TIME-LETTERS.")
    check_manifest(run.folder)


def check_contradictions(run: StoredRun) -> None:
    """Refuse a run whose summary contradicts its records; the files of its attempts are not read.

    Raises:
        UsageError: with the first contradictions.
    """
    if message := describe_contradictions(run):
        raise UsageError(f"{format_path(run.folder)}: {message}.")


def _describe(found: Sequence[str]) -> str:
    first = join_first(found, NAMED, "; ")
    advice = "Restore what was changed, or have the run graded again (--eval-regrade)"
    return f"records that other files of the run contradict: {first}. {advice}" if found else ""


def _list_contradictions(run: StoredRun, *, with_lost: bool = False) -> Iterator[str]:
    # An agent's program may change records of its run; the summary is written when it is gone.
    figures, results = dict[str, Any](), dict[tuple[str, str, int], Result]()
    try:
        with contextlib.suppress(FileNotFoundError):
            figures = read_figures(run.folder)
            results = {one[:3]: one for one in read_results(run.folder) if one.verdict}
    except (OSError, ValueError):
        yield f"{SUMMARY} is damaged"
        return
    is_contradicted = False
    for trial in run.trials:
        said = results.pop((trial.last.query_id, trial.last.variant, trial.last.trial), None)
        own = _summary_contradicts(trial, said) if figures else ""
        if other := own or _grades_contradict(trial):
            is_contradicted = True
            yield f"{trial.last.place}: {trial.verdict} in its record, {other}"
    for one in results.values() if with_lost else ():
        name = one_line(f"{one[0]}, {one[1]}, trial {one[2]}", 100)
        yield f"{name}: {one_line(str(one.verdict), 20)} in {SUMMARY}, and its record is missing"
    if figures and not is_contradicted and not results:  # else trials lack
        yield from (f"{SUMMARY}: {other}" for other in _find_wrong_totals(figures, run.summary))


def _find_wrong_totals(stored: Mapping[str, Any], summary: RunSummary) -> Iterator[str]:
    for key in (*map(str, Verdict), "cost_usd"):
        own = summary.cost_usd if key == "cost_usd" else summary.count(Verdict(key))
        if key in stored and not _is_same(stored[key], own):
            yield f"{key} {one_line(str(stored[key]), 20)}, {own} in the records"


def _is_same(stored: Any, own: float | None) -> bool:
    if own is None or not isinstance(stored, (int, float)):
        return stored is own
    try:
        return math.isclose(stored, own)  # a sum in another order differs in its last digit
    except OverflowError:  # JSON has numbers of any size
        return False


def _summary_contradicts(trial: StoredTrial, said: Result | None) -> str:
    """Return how the summary of the run contradicts the record of a trial; "" if it does not."""
    data = trial.last
    if said is None:
        return f"without a result in {SUMMARY}"
    if (other := str(said.verdict)) != data.verdict:
        return f"{one_line(other, 20)} in {SUMMARY}"
    own = (data.total_steps, data.total_duration_ms, trial.cost_usd)
    for key, value, other in zip(FIGURES, own, said[4:7], strict=True):
        if other is not ... and other != value:
            return f"with {key} {value}, which is {one_line(str(other), 20)} in {SUMMARY}"
    return ""


def _grades_contradict(trial: StoredTrial) -> str:
    """Return how the grades of a trial contradict its verdict; "" if they do not."""
    grades = trial.last.grader_results
    if not grades:
        return ""
    deciding = {grade.verdict for grade in grades.values() if not grade.advisory}
    verdict = trial.last.verdict
    if deciding and verdict is Verdict.PASSED and Verdict.PASSED not in deciding:
        return "and no grade that decides is passed"
    if verdict is Verdict.FAILED and deciding == {Verdict.PASSED}:
        return "and all grades that decide are passed"
    return ""
