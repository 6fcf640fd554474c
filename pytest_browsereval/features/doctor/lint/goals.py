"""Lint rules about goals and checks: whether they ask for the same thing."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_browsereval.features.doctor.lint.base import Finding, Given, Level, Row
from pytest_browsereval.features.doctor.lint.dates import INCOMPLETE, RELATIVE, dates_in

# An expected text of so few characters is found on almost any page.
SHORT = 2


def goal_check_conflict(row: Row, given: Given) -> Iterator[Finding]:
    """Find a check that expects a date which the goal does not state."""
    level = Level.NOTE if row.is_local(given.config) else Level.WARNING
    for key, written in _find_unstated(row):
        message = f"{key} expects the date {row.quote(written)}, which the goal does not state."
        yield row.report("goal-check-conflict", level, message, "Have the goal say what the check asks for.")


def _find_unstated(row: Row) -> Iterator[tuple[str, str]]:
    """Yield the dates that checks expect and the goal does not state, not in part either."""
    query = row.task.query
    stated = {day for _, day in dates_in(query)}
    if not stated and (RELATIVE.search(query) or INCOMPLETE.search(query)):
        return
    for key, text in row.expectations():
        if key.startswith("checks"):
            yield from ((key, written) for written, day in dates_in(text) if day not in stated)


def underspecified_answer(row: Row, _: Given) -> Iterator[Finding]:
    """Find expected texts that other texts hold by chance."""
    is_loose = any(getattr(g, "match", "") == "includes" for g in row.graders)
    for key, text in row.expectations():
        is_contained = key.endswith((".contains", ".text")) or (key.startswith("answer") and is_loose)
        if is_contained and len(text.strip()) <= SHORT:
            yield row.warning(
                "underspecified-answer",
                f"{key}: {row.quote(text)} is so short that wrong answers hold it too.",
                "Expect more of the text, or compare numbers (match: number) or the whole (match: exact).",
            )


RULES = (goal_check_conflict, underspecified_answer)
