"""Attempts that did not pass, grouped by their causes, of one run or of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.display import format_count, join_first, one_line, percent
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.report import Report, Row, Table
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun

BAD = (Verdict.FAILED, Verdict.ERRORED)
"""In the order of reports."""

MOST_NAMED = 4
"""Causes in a line of a run's summary."""

MOST_EXAMPLES = 3
"""Attempts, and details of several, that are named of each group; `--json` has all."""

MOST_COLUMNS = 8
"""Runs and variants that a table has; the newest."""

Column = tuple[str, str]
"""What attempts are counted in: the id of a run, and a variant."""


@dataclass(frozen=True)
class Group:
    """All attempts of one verdict that have one cause, as a fact or as likely."""

    verdict: Verdict
    name: str
    label: str
    members: list[tuple[StoredAttempt, Cause]] = field(default_factory=list)


def _find_column(attempt: StoredAttempt) -> Column:
    return attempt.run.id, attempt.variant


def _list_counted(runs: Sequence[StoredRun]) -> list[StoredAttempt]:
    return [one for run in runs for one in run.attempts if one.counts]


def group_causes(attempts: Sequence[StoredAttempt]) -> list[Group]:
    """Return the causes of those that did not pass: failed before errored, the largest group first."""
    found: dict[tuple[Verdict, str], Group] = {}
    for one in attempts:
        if one.verdict is not Verdict.PASSED and (cause := one.cause) is not None:
            group = Group(one.verdict, cause.name, cause.label)
            found.setdefault((one.verdict, cause.label), group).members.append((one, cause))
    return sorted(found.values(), key=lambda one: (BAD.index(one.verdict), -len(one.members), one.name))


def count_causes(run: StoredRun) -> Iterator[str]:
    """Yield a line of a run's summary for each verdict whose attempts share a cause."""
    try:
        groups = group_causes(_list_counted([run]))
    except UsageError:  # a record was changed meanwhile
        return
    for verdict in BAD:
        own = [one for one in groups if one.verdict is verdict]
        if any(len(one.members) > 1 for one in own):
            parts = join_first([f"{len(one.members):,} {one.label}" for one in own], MOST_NAMED)
            yield f"causes of {verdict}: {parts}; browsereval causes {run.folder.name}"


def make_report(runs: Sequence[StoredRun]) -> Report:
    """Return the report of runs, the oldest of which is the first."""
    attempts = _list_counted(runs)
    groups, totals = group_causes(attempts), Counter(one.verdict for one in attempts)
    columns = list(dict.fromkeys(map(_find_column, attempts)))
    shown = columns[-MOST_COLUMNS:] if len(columns) > 1 else []
    letters = [chr(ord("a") + place) for place in range(len(shown))]
    tables = []
    for verdict in BAD:
        own = [group for group in groups if group.verdict is verdict]
        rows = [_make_row(group, totals[verdict], shown) for group in own]
        title = f"{format_count(totals[verdict], 'trial')} {verdict}, by cause:"
        head = ("cause", "trials", "share", *letters)
        aligns = "lrr" + "r" * len(shown)
        tables.append(Table(head, rows, title, aligns=aligns, details="for example", most=len(rows)))
    return Report(
        title="" if groups else "All trials passed: there is no cause to show.",
        tables=tables,
        notes=[f"{letter} = {run}, {variant}" for letter, (run, variant) in zip(letters, shown, strict=True)],
        content=lambda: {
            "runs": [run.id for run in runs],
            "groups": [_list_values(group, totals[group.verdict]) for group in groups],
        },
    )


def _make_row(group: Group, total: int, columns: Sequence[Column]) -> Row:
    count = len(group.members)
    of = Counter(_find_column(attempt) for attempt, _ in group.members)
    about = Counter(cause.detail for _, cause in group.members if cause.detail).most_common(MOST_EXAMPLES)
    details = [f"{many:,} of them: {one_line(detail)}" for detail, many in about if many > 1]
    for attempt, cause in group.members[:MOST_EXAMPLES]:
        shown = f" (steps {', '.join(map(str, cause.steps))})" if len(cause.steps) > 1 else ""
        said = cause.line or cause.detail or "nothing more is known"
        details.append(f"{one_line(attempt.name, 100)}: {said}{shown}")
    if (left := count - MOST_EXAMPLES) > 0:
        details.append(f"and {left:,} more; --json FILE has them all")
    cells = (group.label, f"{count:,}", percent(count / total, 0), *(f"{of[one]:,}" for one in columns))
    return Row(cells, details=details)


def _list_values(group: Group, total: int) -> dict[str, Any]:
    """Return a group as plain values."""
    return {
        "verdict": str(group.verdict),
        "cause": group.name,
        "label": group.label,
        "count": len(group.members),
        "share": len(group.members) / total,
        "attempts": [
            {
                "run": attempt.run.id,
                **{name: getattr(attempt, name) for name in ("query_id", "variant", "trial")},
                **{name: getattr(cause, name) for name in ("detail", "step", "steps", "line")},
                "folder": attempt.place,
            }
            for attempt, cause in group.members
        ],
    }
