"""Attempts that did not pass, grouped by their causes, of one run or of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun

BAD = (Verdict.FAILED, Verdict.ERRORED)
"""In the order of reports."""


@dataclass(frozen=True)
class Column:
    """What attempts are counted in: a variant of a run."""

    run: str
    variant: str


@dataclass(frozen=True)
class Member:
    """An attempt that did not pass."""

    column: Column
    query_id: str
    trial: int
    verdict: Verdict
    cause: Cause
    folder: str
    is_protected: bool

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "run": self.column.run,
            "query_id": self.query_id,
            "variant": self.column.variant,
            "trial": self.trial,
            "detail": self.cause.detail,
            "step": self.cause.step,
            "steps": list(self.cause.steps),
            "line": self.cause.line,
            "folder": self.folder,
        }


@dataclass(frozen=True)
class Group:
    """All attempts of one verdict that have one cause, as a fact or as likely."""

    verdict: Verdict
    name: str
    label: str
    members: list[Member] = field(default_factory=list)

    def count(self, column: Column) -> int:
        """Return how many are of a column."""
        return sum(one.column == column for one in self.members)

    @property
    def details(self) -> list[tuple[str, int]]:
        """What several of them are about, the most frequent first."""
        counts = Counter(one.cause.detail for one in self.members if one.cause.detail)
        return [(detail, count) for detail, count in counts.most_common() if count > 1]


@dataclass(frozen=True)
class Names:
    """What a judge calls the groups, and what that took."""

    of: Mapping[tuple[Verdict, str], str]
    """By verdict and label; or why it gave none."""
    model: str
    requests: int
    cost_usd: float | None
    """None if a price is unknown."""


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
    names: Names | None = None
    """What a judge calls them, if one was asked."""

    def find_name(self, group: Group) -> str:
        """Return what the judge calls a group; empty if it was not asked."""
        return "" if self.names is None else self.names.of.get((group.verdict, group.label), "")

    def count(self, verdict: Verdict, column: Column | None = None) -> int:
        """Return how many trials have a verdict, in all columns or in one."""
        columns = self.columns if column is None else (column,)
        return sum(self.totals[one, verdict] for one in columns)

    def as_json(self) -> dict[str, Any]:
        """Return all of it as plain values."""
        names = self.names
        judge = names and {"model": names.model, "requests": names.requests, "cost_usd": names.cost_usd}
        return {
            "runs": [run.id for run in self.runs],
            "judge": judge,
            "columns": [
                {"run": one.run, "variant": one.variant, **{str(v): self.totals[one, v] for v in Verdict}}
                for one in self.columns
            ],
            "groups": [
                {
                    "verdict": str(group.verdict),
                    "cause": group.name,
                    "label": group.label,
                    "name_by_judge": self.find_name(group) or None,
                    "count": len(group.members),
                    "share": len(group.members) / self.count(group.verdict),
                    "counts": [group.count(column) for column in self.columns],
                    "same": [{"detail": detail, "count": count} for detail, count in group.details],
                    "attempts": [one.as_json() for one in group.members],
                }
                for group in self.groups
            ],
        }


def group_causes(runs: Sequence[StoredRun]) -> Causes:
    """Group the attempts of runs that count and did not pass.

    Args:
        runs: in the order of the columns.
    """
    attempts = [one for run in runs for one in run.attempts if one.counts]
    columns = dict.fromkeys(Column(one.run.id, one.variant) for one in attempts)
    totals = Counter((Column(one.run.id, one.variant), one.verdict) for one in attempts)
    groups = gather(_members(attempts))
    return Causes(tuple(runs), tuple(columns), totals, tuple(groups))


def _members(attempts: Iterable[StoredAttempt]) -> Iterator[Member]:
    for one in attempts:
        if one.verdict is Verdict.PASSED:
            continue
        cause = one.cause
        if cause is not None:
            column = Column(one.run.id, one.variant)
            yield Member(
                column, one.query_id, one.trial, one.verdict, cause, str(Path(one.place)), one.is_protected
            )


def gather(members: Iterable[Member]) -> list[Group]:
    """Return members in groups: failed before errored, the largest first."""
    found: dict[tuple[Verdict, str], Group] = {}
    for one in members:
        key = (one.verdict, one.cause.label)
        group = found.setdefault(key, Group(one.verdict, one.cause.name, one.cause.label))
        group.members.append(one)
    return sorted(found.values(), key=lambda one: (BAD.index(one.verdict), -len(one.members), one.name))
