"""Attempts that did not pass, grouped by their causes, of one run or of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.display import join_first
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun

BAD = (Verdict.FAILED, Verdict.ERRORED)
"""In the order of reports."""

MOST_NAMED = 4
"""Causes in a line of a run's summary."""

Column = tuple[str, str]
"""What attempts are counted in: the id of a run, and a variant."""


def find_column(attempt: StoredAttempt) -> Column:
    """Return the column of an attempt."""
    return attempt.run.id, attempt.variant


@dataclass(frozen=True)
class Group:
    """All attempts of one verdict that have one cause, as a fact or as likely."""

    verdict: Verdict
    name: str
    label: str
    members: list[tuple[StoredAttempt, Cause]] = field(default_factory=list)

    def count(self, column: Column) -> int:
        """Return how many are of a column."""
        return sum(find_column(attempt) == column for attempt, _ in self.members)

    @property
    def details(self) -> list[tuple[str, int]]:
        """What several of them are about, the most frequent first."""
        counts = Counter(cause.detail for _, cause in self.members if cause.detail)
        return [(detail, count) for detail, count in counts.most_common() if count > 1]


@dataclass(frozen=True)
class Causes:
    """The groups of runs."""

    runs: tuple[StoredRun, ...]
    """The oldest first."""
    columns: tuple[Column, ...]
    totals: Counter[tuple[Column, Verdict]]
    """How many trials of each verdict a column has."""
    groups: tuple[Group, ...]
    """Failed before errored, the largest first."""

    def count(self, verdict: Verdict) -> int:
        """Return how many trials have a verdict."""
        return sum(self.totals[one, verdict] for one in self.columns)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        return {
            "runs": [run.id for run in self.runs],
            "groups": [
                {
                    "verdict": str(group.verdict),
                    "cause": group.name,
                    "label": group.label,
                    "count": len(group.members),
                    "share": len(group.members) / self.count(group.verdict),
                    "attempts": [_list_values(*one) for one in group.members],
                }
                for group in self.groups
            ],
        }


def _list_values(attempt: StoredAttempt, cause: Cause) -> dict[str, Any]:
    return {
        "run": attempt.run.id,
        **{name: getattr(attempt, name) for name in ("query_id", "variant", "trial")},
        **{name: getattr(cause, name) for name in ("detail", "step", "steps", "line")},
        "folder": attempt.place,
    }


def group_causes(runs: Sequence[StoredRun]) -> Causes:
    """Group the attempts of runs that count and did not pass.

    Args:
        runs: in the order of the columns.
    """
    attempts = [one for run in runs for one in run.attempts if one.counts]
    columns = dict.fromkeys(map(find_column, attempts))
    totals = Counter((find_column(one), one.verdict) for one in attempts)
    found: dict[tuple[Verdict, str], Group] = {}
    for one in attempts:
        if one.verdict is not Verdict.PASSED and (cause := one.cause) is not None:
            group = Group(one.verdict, cause.name, cause.label)
            found.setdefault((one.verdict, cause.label), group).members.append((one, cause))
    groups = sorted(found.values(), key=lambda one: (BAD.index(one.verdict), -len(one.members), one.name))
    return Causes(tuple(runs), tuple(columns), totals, tuple(groups))


def count_causes(run: StoredRun) -> Iterator[str]:
    """Yield a line of a run's summary for each verdict whose attempts share a cause."""
    groups: tuple[Group, ...] = ()
    with suppress(UsageError):  # a record was changed meanwhile
        groups = group_causes([run]).groups
    for verdict in BAD:
        own = [one for one in groups if one.verdict is verdict]
        if any(len(one.members) > 1 for one in own):
            parts = join_first([f"{len(one.members):,} {one.label}" for one in own], MOST_NAMED)
            yield f"causes of {verdict}: {parts}; browsereval causes {run.folder.name}"
