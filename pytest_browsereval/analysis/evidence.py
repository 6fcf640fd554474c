"""Consistency check of a run's files: records, their grades and the summary."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_browsereval.analysis.gate import NAMED
from pytest_browsereval.analysis.summary import RunSummary, TrialOutcome
from pytest_browsereval.capture.trajectory import GRADES_FILE, load_written, open_written
from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.display import join_first, one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.run.reading import work_ahead
from pytest_browsereval.run.records import make_stamp
from pytest_browsereval.run.store import RunStore, TrialKey

_TOTALS = ("passed", "failed", "errored", "cost_usd")
"""Figures of a summary that follow from the records."""


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
    return _describe(found) if found else ""


def _describe(found: Sequence[str]) -> str:
    return (
        f"records that other files of the run contradict: {join_first(found, NAMED, '; ')}. Restore what was "
        "changed, or have the run graded again (browsereval regrade)"
    )


def _contradictions(store: RunStore, summary: RunSummary) -> Iterator[str]:
    # A copied folder could raise the rate without a new attempt.
    for folders in summary.twice:
        a, b = (folder.relative_to(store.root).as_posix() for folder in folders)
        yield f"{a} and {b} are one attempt by their records, and only the first counts"
    contradicted = set()
    for folder, other in _stored_contradictions(store, summary):
        contradicted.add(folder)
        yield other
    for trial, grades in work_ahead(lambda trial: [(trial, _file_contradicts(trial))], summary.trials):
        if grades and trial.folder not in contradicted:
            yield _name(store, trial, grades)


def check_contradictions(store: RunStore, summary: RunSummary) -> None:
    """Refuse a run whose summary contradicts its records; the files of its attempts are not read.

    Raises:
        UsageError: with the first contradictions.
    """
    if found := [other for _, other in _stored_contradictions(store, summary)]:
        raise UsageError(f"{format_path(store.root)}: {_describe(found)}.")


def _stored_contradictions(store: RunStore, summary: RunSummary) -> Iterator[tuple[Path, str]]:
    """Yield how the summary of a run contradicts its records, with their folders."""
    # An agent's program may change records of its run; the summary is written when it is gone.
    file, is_contradicted = store.root / "summary.json", False
    try:
        stored, results = _read_summary(file)
    except (OSError, ValueError, KeyError, TypeError):
        yield file, "summary.json is damaged"
        return
    for trial in summary.trials:
        if other := (_summary_contradicts(trial, results) if stored else "") or _grades_contradict(trial):
            is_contradicted = True
            yield trial.folder, _name(store, trial, other)
    if stored and not is_contradicted and len(results) == len(summary.trials):  # else the run lacks trials
        own = summary.as_json()
        for key in _TOTALS:
            if key in stored and not _is_same(stored[key], own[key]):
                yield file, f"summary.json: {key} {one_line(str(stored[key]), 20)}, {own[key]} by the records"


def _is_same(stored: Any, own: float | None) -> bool:
    if own is None or not isinstance(stored, (int, float)):
        return stored is own
    return math.isclose(stored, own)  # a sum in another order differs in its last digit


def _name(store: RunStore, trial: TrialOutcome, other: str) -> str:
    return (
        f"{trial.folder.relative_to(store.root).as_posix()}: {trial.metadata.verdict} by its record, {other}"
    )


def _read_summary(file: Path) -> tuple[dict[str, Any], dict[TrialKey, dict[str, Any]]]:
    """Return the run's summary, and its results by their trials; both empty if it has none.

    Raises:
        OSError: it cannot be read.
        ValueError, KeyError, TypeError: it is damaged.
    """
    try:
        stored = load_written(file)
    except FileNotFoundError:
        return {}, {}
    keys = ("query_id", "variant", "trial")
    return stored, {TrialKey(*(one[key] for key in keys)): one for one in stored["results"] if one["verdict"]}


def _summary_contradicts(trial: TrialOutcome, results: Mapping[TrialKey, Mapping[str, Any]]) -> str:
    """Return how the summary of the run contradicts the record of a trial; "" if it does not."""
    data = trial.metadata
    if (said := results.get(TrialKey.of(data))) is None:
        return "without a result in summary.json"
    if (other := str(said["verdict"])) != data.verdict:
        return f"{one_line(other, 20)} by summary.json"
    own = {"steps": data.total_steps, "duration_ms": data.total_duration_ms, "cost_usd": trial.cost_usd}
    for key, value in own.items():
        if key in said and said[key] != value:
            return f"with {key} {value}, which is {one_line(str(said[key]), 20)} in summary.json"
    return ""


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
    return ""


def _file_contradicts(trial: TrialOutcome) -> str:
    grades, known = trial.metadata.grader_results, trial.metadata.grades_stamp
    if not grades:
        return ""
    path = f"{trial.folder}{os.sep}{GRADES_FILE}"
    with contextlib.suppress(OSError):
        if known is not None and known == hash(make_stamp(os.stat(path, follow_symlinks=False))):  # noqa: PTH116
            return ""  # as it was when it was found to agree
    try:
        with open_written(path) as file:
            found: Any = json.load(file)
        stored = {str(name): str(grade["verdict"]) for name, grade in found.items()}
    except FileNotFoundError:
        # Of a run at a URL there may be digests only, which were compared when it was sent.
        return f"and its {GRADES_FILE} is missing" if trial.folder.is_dir() else ""
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return f"and its {GRADES_FILE} is damaged"
    for name in {**stored, **grades}:
        own = str(grades[name].verdict) if name in grades else "missing"
        if (other := stored.get(name, "missing")) != own:
            return f"with {one_line(name, 60)} {own}, which is {one_line(other, 20)} in {GRADES_FILE}"
    return ""
