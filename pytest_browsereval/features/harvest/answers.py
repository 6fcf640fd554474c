"""What of an answer a page shows, so that a way can hold it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pydantic import JsonValue

from pytest_browsereval.features.shared.ways import Way
from pytest_browsereval.model.tasks import Task

LONGEST = 200
"""Characters of a text that is looked for."""
_NUMBER = re.compile(r"[^\s\w]?\d[\d.,]*\d|[^\s\w]?\d")


def list_shown(task: Task, way: Way) -> list[str]:
    """Return texts of the answer that the last looks of a way showed; empty unless they showed all of it.

    Args:
        task: the row, whose ``answer`` counts before the agent's own.
        way: of a passed attempt.
    """
    answer: JsonValue = way.answer if task.answer is None else task.answer
    parts = [list(_find(one, way.seen)) for one in (answer if isinstance(answer, list) else [answer])]
    return list(dict.fromkeys(found[0] for found in parts)) if all(parts) else []


def _find(value: JsonValue, seen: str) -> Iterator[str]:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return
    if isinstance(value, int | float):
        for found in _NUMBER.findall(seen):
            digits = re.sub(r"[^\d.]", "", found.replace(",", ""))
            if digits.count(".") <= 1 and digits.strip(".") and float(digits) == abs(value):
                yield found
    elif 0 < len(value) <= LONGEST and value.casefold() in seen.casefold():
        yield value
