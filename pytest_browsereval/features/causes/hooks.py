"""The causes of a run in its summary: counted, a line for each verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.display import join_first, one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.run import RunDoor, StoredRun
from pytest_browsereval.runs.trial import StoredTrial

MOST_COUNTED = 1_000
"""Attempts of a verdict that are looked at when a run ends, which takes half a second."""

MOST_NAMED = 4


def count_causes(run: StoredRun) -> Iterator[str]:
    """Yield a line for each verdict whose attempts share a cause."""
    for verdict in (Verdict.FAILED, Verdict.ERRORED):
        if line := _describe(run, verdict):
            yield line


def _describe(run: StoredRun, verdict: Verdict) -> str:
    bad = [one for one in run.summary.trials if one.last.verdict is verdict]
    if len(bad) < 2:
        return ""
    found = Counter(_name(cause) for cause in _find(run.door, bad[:MOST_COUNTED]))
    if max(found.values(), default=0) < 2:
        return ""
    of = f" (of the first {MOST_COUNTED:,})" if len(bad) > MOST_COUNTED else ""
    parts = [f"{count:,} {name}" for name, count in found.most_common()]
    return f"causes of {verdict}{of}: {join_first(parts, MOST_NAMED)}; browsereval causes {run.folder.name}"


def _find(door: RunDoor, trials: list[StoredTrial]) -> Iterator[Cause]:
    for trial in trials:
        try:
            cause = door.find_cause(trial.last.metadata, trial.last.local_folder)
        except UsageError:  # it was changed meanwhile
            continue
        if cause is not None:
            yield cause


def _name(cause: Cause) -> str:
    """Return the cause; of an error also what it is about."""
    is_error = cause.name == "same_error" and cause.detail
    return f"{cause.label} ({one_line(cause.detail, 60)})" if is_error else cause.label
