"""Report of the doctor: what was tried, and what was found about rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from pytest_browsereval.features.doctor.doctor import Examination, State
from pytest_browsereval.features.doctor.lint.base import Finding, Level
from pytest_browsereval.features.doctor.validation import Validated
from pytest_browsereval.model.display import format_count, join_first
from pytest_browsereval.report.report import Report, Row, Table

SHOWN = 5
"""Findings of a rule; `--all` lists all of them."""


def make_report(done: Examination, *, lists_all: bool = False) -> Report:
    """Return the report.

    Args:
        done: what was tried and found.
        lists_all: whether all findings of a rule are listed.
    """
    errors = sum(one.state is State.ERROR for one in done.checks)
    errors += sum(found.level is Level.ERROR for found in done.findings)
    rows = []
    for one in done.checks:
        first, *more = one.message.splitlines() or [""]
        rows.append(Row((str(one.state), one.area, one.subject, first), details=more))
    by_rule: dict[tuple[Level, str], list[Finding]] = {}
    for found in done.findings:
        by_rule.setdefault((found.level, found.rule), []).append(found)
    rows += [] if done.validated is None else _list_proofs(done.validated)
    details = "more" if any(row.details for row in rows) else ""
    return Report(
        title=format_count(errors, "error") if errors else "No errors. Ready to run.",
        tables=[
            Table(("state", "area", "of", "result"), rows, details=details, most=len(rows)),
            *(
                Table(
                    ("",),
                    [Row((str(one),)) for one in same],
                    f"{level} {rule}: {len(same)}",
                    most=len(same) if lists_all else SHOWN,
                    rest="--all lists them",
                )
                for (level, rule), same in by_rule.items()
            ),
        ],
        content=lambda: {
            "errors": errors,
            "checks": [asdict(one) for one in done.checks],
            "findings": [asdict(one) for one in done.findings],
        },
    )


def _list_proofs(done: Validated) -> Iterator[Row]:
    proved = format_count(len(done.proved), "row is", "rows are")
    yield Row((str(State.OK if done.proved else State.SKIPPED), "proof", "", f"{proved} proved"))
    if done.refused:
        rows = format_count(len(done.refused), "row detects", "rows detect")
        yield Row((str(State.OK), "proof", "", f"{rows} extra steps as a side effect"))
    for why, ids in done.unproved.items():
        message = f"{format_count(len(ids), 'row')}: {why}: {join_first(ids, SHOWN)}"
        yield Row((str(State.SKIPPED), "proof", "", message))
