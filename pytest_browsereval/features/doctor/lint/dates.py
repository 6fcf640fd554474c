"""Lint rules about time: dates of a task that have passed, or mean another day in each run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime

from pytest_browsereval.features.doctor.lint.base import Finding, Given, Level, Row, word

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_YEAR = r"(?:19|20)\d{2}"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = re.compile(
    rf"\b(?:{_YEAR}-\d{{2}}-\d{{2}}|{_MONTH} {_DAY},? {_YEAR}|{_DAY}(?: of)? {_MONTH},? {_YEAR}"
    rf"|\d{{1,2}}/\d{{1,2}}/{_YEAR})\b",
    re.IGNORECASE,
)

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


def dates_in(text: str) -> list[tuple[str, date]]:
    """Return the absolute dates of a text as they are written and as they are; month first where both fit."""
    from dateutil import parser

    found = []
    for match in _DATE.finditer(text):
        try:
            plain = re.sub(r"\bof\b", "", match[0], flags=re.IGNORECASE)
            found.append((match[0], parser.parse(plain, default=datetime(2000, 1, 1)).date()))  # noqa: DTZ001
        except (ValueError, OverflowError):
            continue  # 2024-13-45 is not a date
    return found


def expired_date(row: Row, given: Given) -> Iterator[Finding]:
    """Find a date in the goal or in what is expected that lies before today."""
    places = [("query", row.task.query), *row.expectations()]
    clock = row.task.clock or given.config.clock
    today = datetime.fromisoformat(clock).date() if clock else given.today
    past = [(key, written, day) for key, text in places for written, day in dates_in(text) if day < today]
    if past:
        key, written, day = past[0]
        message = repr(written) if key == "query" else row.quote(written)
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
            f"the goal says {found[0]!r}, which is another day at each run"
            + (", and what is expected stays the same." if is_fixed else "."),
            "Write the date, or `clock` into the row, the time that its page is to see.",
        )


RULES = (expired_date, relative_date)
