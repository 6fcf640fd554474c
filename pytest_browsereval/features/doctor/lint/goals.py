"""Lint rules about goals and checks: whether they ask for the same thing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

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
    """Find expected texts that other texts hold by chance, or that many right answers are not."""
    is_loose = any(getattr(g, "match", "") == "includes" for g in row.graders)
    for key, text in row.expectations():
        is_contained = key.endswith((".contains", ".text")) or (key.startswith("answer") and is_loose)
        if is_contained and len(text.strip()) <= SHORT:
            yield row.warning(
                "underspecified-answer",
                f"{key}: {row.quote(text)} is so short that wrong answers hold it too.",
                "Expect more of the text, or compare numbers (match: number) or the whole (match: exact).",
            )
    exactly = any(getattr(g, "match", "") in ("exact", "includes") for g in row.graders)
    is_possible = row.task.metadata.additional.get("answer_type") == "possible"
    if exactly and is_possible and any(getattr(g, "allow_possible", False) for g in row.graders):
        yield row.warning(
            "underspecified-answer",
            "the benchmark calls the answer possible, one of many, and it is matched.",
            "Let a judge compare with it (webvoyager).",
        )


def rubric_mismatch(row: Row, _: Given) -> Iterator[Finding]:
    """Find rubrics whose points do not add up, or whose criteria overlap."""
    rubric = row.task.rubric
    items = rubric.get("items") if isinstance(rubric, Mapping) else None
    if not isinstance(items, list):
        return
    for problem in _find_wrong(row, rubric, [item for item in items if isinstance(item, Mapping)]):
        yield row.warning("rubric-mismatch", problem, "Correct the rubric.")


def _find_wrong(row: Row, rubric: Any, items: list[Mapping[str, Any]]) -> Iterator[str]:
    points = [item.get("max_points") for item in items]
    numbers = [p for p in points if isinstance(p, int | float) and not isinstance(p, bool)]
    for key in ("total_points", "max_points", "total"):
        total = rubric.get(key)
        if isinstance(total, int | float) and total != sum(numbers):
            yield f"its {key} are {total}, and those of its items add up to {sum(numbers)}."
    if len(numbers) < len(points) or any(number <= 0 for number in numbers):
        yield "an item has no max_points above 0."
    names = [" ".join(str(item.get("criterion", "")).casefold().split()) for item in items]
    if twice := next((name for name in names if names.count(name) > 1), None):
        yield f"two items are about {row.quote(twice)}."


RULES = (goal_check_conflict, underspecified_answer, rubric_mismatch)
