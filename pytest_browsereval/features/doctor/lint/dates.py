"""Lint rules about time: dates of a task that have passed, or mean another day in each run."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime

from pytest_browsereval.features.doctor.lint.base import Finding, Given, Level, Row, word
from pytest_browsereval.graders.dates import find_dates

_RELATIVE = word(
    "tomorrow",
    "today",
    "tonight",
    "yesterday",
    r"(?:next|this|coming|last|past|previous) (?:week(?:end)?|month|year|summer|winter|spring|fall|autumn"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day)",
    r"in (?:\d+|two|three|a few) (?:days|weeks|months)",
    r"(?:\d+|two|three) (?:days|weeks|months) (?:from now|ago|later)",
)


def find_days(text: str) -> Iterator[date]:
    """Yield the dates of a text that name a day; month first where both fit."""
    for found in find_dates(text):
        year, month, day = found.fields[:3]
        if year and month and day:
            yield date(year, month, day)


def expired_date(row: Row, given: Given) -> Iterator[Finding]:
    """Find a date in the goal or in what is expected that lies before today."""
    places = [("query", row.task.query), *row.expectations()]
    clock = row.task.clock or given.config.clock
    today = datetime.fromisoformat(clock).date() if clock else given.today
    past = ((key, day) for key, text in places for day in find_days(text) if day < today)
    if first := next(past, None):
        key, day = first
        message = str(day) if key == "query" else row.quote(day)
        yield row.report(
            "expired-date",
            Level.NOTE if row.is_local(given.config) else Level.WARNING,
            f"{key}: {message} has passed"
            + ("." if row.task.protected else f" ({(today - day).days} days)."),
            "Move the date, or write `clock` into the row, the time that its page is to see.",
        )


def relative_date(row: Row, given: Given) -> Iterator[Finding]:
    """Find words that mean another day in each run, unless the row has a clock."""
    if row.task.clock or given.config.clock:
        return
    if found := _RELATIVE.search(row.task.query):
        is_fixed = any(True for _ in row.expectations())
        yield row.report(
            "relative-date",
            Level.WARNING if is_fixed and not row.is_local(given.config) else Level.NOTE,
            f"the goal says {found[0]!r}, which is a different day on each run"
            + (", and what is expected stays the same." if is_fixed else "."),
            "Write the date, or `clock` into the row, the time that its page is to see.",
        )


RULES = (expired_date, relative_date)
