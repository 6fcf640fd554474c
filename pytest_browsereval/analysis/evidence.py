"""Consistency check of a run's files: records, their grades and the summary."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from pytest_browsereval.analysis.gate import NAMED
from pytest_browsereval.analysis.summary import RunSummary, TrialOutcome
from pytest_browsereval.capture.trajectory import GRADES_FILE, open_written, read_written
from pytest_browsereval.model.display import join_first, one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.run.reading import work_ahead
from pytest_browsereval.run.store import RunStore


def contradicting(store: RunStore, summary: RunSummary) -> RuleResult | None:
    """Return a rule that is missed where files of a run contradict each other; None if they do not.

    Args:
        store: the run.
        summary: of its records.
    """
    message = describe_contradictions(store, summary)
    return RuleResult("records", is_met=False, message=message) if message else None


def describe_contradictions(store: RunStore, summary: RunSummary) -> str:
    """Return the first contradictions and what to do; "" if there are none.

    Args:
        store: the run.
        summary: of its records.
    """
    found = list(_contradictions(store, summary))
    if not found:
        return ""
    return (
        f"records that other files of the run contradict: {join_first(found, NAMED, '; ')}. Restore what was "
        "changed, or have the run graded again (browsereval regrade)"
    )


def _contradictions(store: RunStore, summary: RunSummary) -> Iterator[str]:
    # A copied folder could raise the rate without a new attempt.
    for folders in summary.twice:
        a, b = (folder.relative_to(store.root).as_posix() for folder in folders)
        yield f"{a} and {b} are one attempt by their records, and only the first counts"
    # An agent's program may change records of its run; the summary is written when it is gone.
    summed_up = _read_verdicts(store)
    for trial, grades in work_ahead(lambda trial: [(trial, _grades_contradict(trial))], summary.trials):
        data = trial.metadata
        said = summed_up.get((data.query_id, data.variant, data.trial), data.verdict)
        other = grades if said == data.verdict else f"{one_line(said, 20)} by summary.json"
        if other:
            place = trial.folder.relative_to(store.root).as_posix()
            yield f"{place}: {data.verdict} by its record, {other}"


def _read_verdicts(store: RunStore) -> dict[tuple[str, str, int], str]:
    """Return the verdicts of the trials by the run's summary; empty if it has none."""
    found: dict[tuple[str, str, int], str] = {}
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        for one in json.loads(read_written(store.root / "summary.json"))["results"]:
            found[one["query_id"], one["variant"], one["trial"]] = str(one["verdict"])
    return found


def _grades_contradict(trial: TrialOutcome) -> str:
    """Return how the grades of a trial contradict its verdict; "" if they do not."""
    grades = trial.metadata.grader_results
    if not grades:
        return ""
    deciding = {grade.verdict for grade in grades.values() if not grade.advisory}
    verdict = trial.metadata.verdict
    if deciding and verdict is Verdict.PASSED and Verdict.PASSED not in deciding:
        return "and no grade that decides is passed"
    if verdict is Verdict.FAILED and deciding == {Verdict.PASSED}:
        return "and all grades that decide are passed"
    return _file_contradicts(trial)


def _file_contradicts(trial: TrialOutcome) -> str:
    grades = trial.metadata.grader_results
    try:
        with open_written(str(trial.folder / GRADES_FILE)) as file:
            found: Any = json.load(file)
        stored = {str(name): str(grade["verdict"]) for name, grade in found.items()}
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return f"and its {GRADES_FILE} is damaged"
    for name in {**stored, **grades}:
        own = str(grades[name].verdict) if name in grades else "missing"
        if (other := stored.get(name, "missing")) != own:
            return f"with {one_line(name, 60)} {own}, which is {one_line(other, 20)} in {GRADES_FILE}"
    return ""
