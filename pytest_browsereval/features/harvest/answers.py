"""What of an answer a page shows, so that a way can hold it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from pydantic import JsonValue

from pytest_browsereval.features.shared.ways import Way
from pytest_browsereval.graders.dates import read_date
from pytest_browsereval.model.tasks import Task

LONGEST = 200
"""Characters of a text that is looked for."""
MOST_SPELLINGS = 3
"""Texts of one answer that are tried."""
_NUMBER = re.compile(r"([$€£¥]?)(\d(?:[\d.,]*\d)?)( [A-Za-z]\w+)?")
_DATE = re.compile(r"\d{1,2}\.? [A-Za-z]+ \d{4}|[A-Za-z]+ \d{1,2}, \d{4}|\d{4}-\d\d-\d\d")


def list_shown(task: Task, way: Way) -> list[list[str]]:
    """Return how the last looks of a way may have shown each part of the answer, the best text first.

    Empty unless they showed all of it.

    Args:
        task: the row, whose ``answer`` counts before the agent's own.
        way: of a passed attempt.
    """
    answer: JsonValue = way.answer if task.answer is None else task.answer
    values = answer if isinstance(answer, list) else [answer]
    parts = [list(islice(dict.fromkeys(_find(one, way.seen)), MOST_SPELLINGS)) for one in values]
    return parts if all(parts) else []


def _find(value: JsonValue, seen: str) -> Iterator[str]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = [one for one in _NUMBER.findall(seen) if _read(one[1]) == abs(value)]
        # With the word that follows: a digit by itself is on most pages.
        yield from ("".join(one) for one in found if one[2])
        yield from (f"{sign}{digits}" for sign, digits, _ in found if sign or len(digits) > 2)
    elif isinstance(value, str) and 0 < len(value) <= LONGEST:
        if value.casefold() in seen.casefold():
            yield value
        elif wanted := read_date(value):
            dates = ((text, read_date(text)) for text in _DATE.findall(seen))
            yield from (text for text, moment in dates if moment and wanted.mismatch(moment) is None)


def _read(digits: str) -> float | None:
    plain = digits.replace(",", "")
    return float(plain) if plain.count(".") <= 1 else None
