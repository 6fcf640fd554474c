"""Lint rules about goals and checks: whether they ask for the same thing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pytest_browsereval.features.doctor.lint.base import Finding, Given, Level, Row, word
from pytest_browsereval.features.doctor.lint.dates import INCOMPLETE, RELATIVE, dates_in

# An expected text of so few characters is found on almost any page.
SHORT = 2

_ALL = word("all", "every", "each")
_RANDOM = word("random(?:ly)?", "arbitrary", "any (?:one|item|product|post|article)", "of your choice")
_AN_ID = re.compile(r"(?:^|[._\[?@])(?:id|uuid|sku|slug)\b", re.IGNORECASE)
_OPEN = word("an example", "any", "suggest", "recommend", "your opinion")
_LOGIN = word(
    r"(?:log|sign)(?:ged)? ?in(?:to)?", "my (?:account|orders?|profile|wish ?list|inbox|subscriptions?)"
)
_CAPTCHA = word("captcha", "not a robot", "human verification")
_CONDITION = word("if", "in case", "unless", "when available", "where applicable")


def goal_check_conflict(row: Row, given: Given) -> Iterator[Finding]:
    """Find a check that asks for something else than the goal."""
    query, advice = row.task.query, "Have the goal say what the check asks for."
    for place, check in enumerate(row.task.checks):
        if (found := _ALL.search(query)) and check.get("count") == 1:
            message = f"the goal says {found[0]!r}, and checks.{place} asks for exactly one."
            yield row.warning("goal-check-conflict", message, advice)
        where = check.get("path")
        is_of_one_id = isinstance(where, str) and _AN_ID.search(where) and "equals" in check
        if (found := _RANDOM.search(query)) and is_of_one_id:
            message = f"the goal says {found[0]!r}, and checks.{place} asks for a certain id."
            yield row.warning("goal-check-conflict", message, advice)
    level = Level.NOTE if row.is_local(given.config) else Level.WARNING
    for key, written in _find_unstated(row):
        message = f"{key} expects the date {row.quote(written)}, which the goal does not state."
        yield row.report("goal-check-conflict", level, message, advice)


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
    found = _OPEN.search(row.task.query)
    if exactly and found and row.task.answer is not None:
        yield row.note(
            "underspecified-answer",
            f"the goal says {found[0]!r}, and one certain answer is expected.",
            "Have the goal determine the answer, or list all that are right.",
        )
    is_possible = row.task.metadata.additional.get("answer_type") == "possible"
    if exactly and is_possible and any(getattr(g, "allow_possible", False) for g in row.graders):
        yield row.warning(
            "underspecified-answer",
            "the benchmark calls the answer possible, one of many, and it is matched.",
            "Let a judge compare with it (webvoyager).",
        )


def rubric_mismatch(row: Row, _: Given) -> Iterator[Finding]:
    """Find rubrics whose points do not add up, or whose criteria overlap or hang on what is not said."""
    rubric = row.task.rubric
    items = rubric.get("items") if isinstance(rubric, Mapping) else None
    if not isinstance(items, list):
        return
    for problem, level in _wrong_in(row, rubric, [item for item in items if isinstance(item, Mapping)]):
        yield row.report("rubric-mismatch", level, problem, "Mend the rubric.")


def _wrong_in(row: Row, rubric: Any, items: list[Mapping[str, Any]]) -> Iterator[tuple[str, Level]]:
    points = [item.get("max_points") for item in items]
    numbers = [p for p in points if isinstance(p, int | float) and not isinstance(p, bool)]
    for key in ("total_points", "max_points", "total"):
        total = rubric.get(key)
        if isinstance(total, int | float) and total != sum(numbers):
            yield f"its {key} are {total}, and those of its items add up to {sum(numbers)}.", Level.WARNING
    if len(numbers) < len(points) or any(number <= 0 for number in numbers):
        yield "an item has no max_points above 0.", Level.WARNING
    names = [" ".join(str(item.get("criterion", "")).casefold().split()) for item in items]
    if twice := next((name for name in names if names.count(name) > 1), None):
        yield f"two items are about {row.quote(twice)}.", Level.WARNING
    for item in items:
        text = f"{item.get('criterion', '')} {item.get('description', '')}"
        if not item.get("condition") and (found := _CONDITION.search(text)):
            message = f"the item {row.quote(item.get('criterion'))} says {found[0]!r} and has no condition."
            yield message, Level.NOTE


def needs_login(row: Row, _: Given) -> Iterator[Finding]:
    """Find goals on live sites that need a login."""
    is_live = "://" in (row.task.start_url or "")
    required = row.task.metadata.additional.get("require_login") is True
    if (found := _LOGIN.search(row.task.query)) and is_live:
        message = f"the goal says {found[0]!r}: without an account it cannot be reached."
    elif required:
        message = "the benchmark says that a user has to be logged in."
    else:
        return
    yield row.note(
        "needs-login",
        message,
        "Prepare the account (setup_script, a stored state of the browser), or leave the row out.",
    )


def needs_captcha(row: Row, _: Given) -> Iterator[Finding]:
    """Find goals that speak of a captcha."""
    if found := _CAPTCHA.search(row.task.query):
        message = f"the goal says {found[0]!r}: a wall against agents is the environment's, not the agent's."
        yield row.note("needs-captcha", message, "Leave the row out, or read its result so.")


RULES = (goal_check_conflict, underspecified_answer, rubric_mismatch, needs_login, needs_captcha)
