"""Report of causes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pytest_browsereval.features.causes.groups import BAD, Causes, Column, Group
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.display import format_count, one_line, percent
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.report.report import Report, Row, Table
from pytest_browsereval.runs.attempt import StoredAttempt

MOST_EXAMPLES = 3
"""Attempts that are named of each group; `--json` has all."""

MOST_DETAILS = 3

MOST_COLUMNS = 8
"""Runs and variants that a table has; the newest."""


def make_report(found: Causes) -> Report:
    """Return the report: the groups of each verdict, the largest first."""
    columns = found.columns[-MOST_COLUMNS:] if len(found.columns) > 1 else ()
    letters = {column: chr(ord("a") + place) for place, column in enumerate(columns)}
    groups = {verdict: [one for one in found.groups if one.verdict is verdict] for verdict in BAD}
    notes = [f"{letter} = {run}, {variant}" for (run, variant), letter in letters.items()]
    return Report(
        title="" if found.groups else "All trials passed: there is no cause to show.",
        tables=[
            Table(
                ("cause", "trials", "share", *letters.values()),
                list(_make_rows(found, own, verdict, columns)),
                f"{format_count(found.count(verdict), 'trial')} {verdict}, by cause:",
                aligns="lrr" + "r" * len(columns),
                details="for example",
                most=len(own) + 1,
            )
            for verdict, own in groups.items()
            if own
        ],
        notes=notes,
        content=found.as_json,
    )


def _make_rows(
    found: Causes, groups: Sequence[Group], verdict: Verdict, columns: Sequence[Column]
) -> Iterator[Row]:
    count = found.count(verdict)
    for group in groups:
        own = len(group.members)
        counts = (f"{group.count(one):,}" for one in columns)
        cells = (group.label, f"{own:,}", percent(own / count, 0), *counts)
        yield Row(cells, details=list(_list_details(group)))
    if columns:
        totals = (f"{found.totals[one, verdict]:,}" for one in columns)
        yield Row((f"all {verdict}", f"{count:,}", "", *totals))


def _list_details(group: Group) -> Iterator[str]:
    yield from (f"{count:,} of them: {one_line(detail)}" for detail, count in group.details[:MOST_DETAILS])
    yield from (f"{_name(attempt)}: {_describe(cause)}" for attempt, cause in group.members[:MOST_EXAMPLES])
    if (left := len(group.members) - MOST_EXAMPLES) > 0:
        yield f"and {left:,} more; --json FILE has them all"


def _name(one: StoredAttempt) -> str:
    more = [] if one.variant == "default" else [one_line(one.variant, 40)]
    more += [f"trial {one.trial}"] if one.trial > 1 else []
    return one_line(one.query_id, 60) + (f" [{', '.join(more)}]" if more else "")


def _describe(cause: Cause) -> str:
    """Return where an attempt went wrong, and the steps that show it."""
    shown = f" (steps {', '.join(map(str, cause.steps))})" if len(cause.steps) > 1 else ""
    return (cause.line or cause.detail or "no more is known") + shown
