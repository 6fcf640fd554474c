"""The causes of a run in its summary: counted, a line for each verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.causes.groups import BAD
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.display import join_first, one_line
from pytest_browsereval.runs.run import StoredRun

MOST_COUNTED = 1_000
"""Attempts of a verdict that are looked at when a run ends, which takes half a second."""

MOST_NAMED = 4


def count_causes(run: StoredRun) -> Iterator[str]:
    """Yield a line for each verdict whose attempts share a cause."""
    for verdict in BAD:
        bad = [one.last for one in run.summary.trials if one.last.verdict is verdict]
        found = Counter[str]()
        for attempt in bad[:MOST_COUNTED] if len(bad) > 1 else ():
            with suppress(UsageError):  # it was changed meanwhile
                cause = run.door.find_cause(attempt.metadata, attempt.local_folder)
                found.update([_name(cause)] if cause is not None else [])
        if max(found.values(), default=0) > 1:
            of = f" (of the first {MOST_COUNTED:,})" if len(bad) > MOST_COUNTED else ""
            parts = join_first([f"{count:,} {name}" for name, count in found.most_common()], MOST_NAMED)
            yield f"causes of {verdict}{of}: {parts}; browsereval causes {run.folder.name}"


def _name(cause: Cause) -> str:
    """Return the cause; of an error also what it is about."""
    is_error = cause.name == "same_error" and cause.detail
    return f"{cause.label} ({one_line(cause.detail, 60)})" if is_error else cause.label
