"""Make text from pages, models and rows fit for a terminal: one line, a known width, no control codes."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from pytest_browsereval.redaction.known import beginning

LONGEST = 200
"""The number of characters before a text is cut."""

MOST_NAMES = 20
"""The number of names in a list before the rest is counted."""


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent; only 1 is written 100.0%, and only 0 is written 0.0%."""
    # The ends of computed intervals differ from 0 and 1 by the last digits of a float.
    is_end = share < 1e-9 or share > 1 - 1e-9
    least = 10.0 ** -(digits + 2)
    return f"{share if is_end else min(max(share, least), 1 - least):.{digits}%}"


def plain(value: float, digits: int = 2) -> str:
    """Return a number with this many decimals."""
    return f"{value:.{digits}f}"


def digits_apart(
    bound: float, *values: float, write: Callable[[float, int], str] = percent, least: int = 1
) -> int:
    """Return how many digits tell values apart from a bound that they differ from.

    A pass rate a little under 90 % must not be reported as "90.0%, which is under 90.0%".

    Args:
        bound: what the values are compared with.
        values: the numbers written next to it.
        write: formats a number with this many digits.
        least: the smallest number of digits.
    """
    apart = [value for value in values if abs(value - bound) > 1e-9]
    for digits in range(least, least + 8):
        if all(write(value, digits) != write(bound, digits) for value in apart):
            return digits
    return least


def format_count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 row``, ``1,200 rows``.

    Args:
        number: the number.
        noun: the noun for one.
        plural: the noun for any other number; the noun with an ``s`` by default.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def format_json(content: Mapping[str, Any]) -> str:
    """Return JSON with a line for each entry of a list: 20,000 of them, indented, take seconds."""
    return "".join(list_json_parts(content))


def list_json_parts(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the same in parts; a list may be an iterator, whose entries are never in memory together."""
    before = "{\n"
    for name, value in content.items():
        yield f"{before} {json.dumps(name, ensure_ascii=False)}: "
        before = ",\n"
        if isinstance(value, list | Iterator):
            start = "["
            for one in value:
                yield f"{start}\n  {json.dumps(one, ensure_ascii=False)}"
                start = ","
            yield "[]" if start == "[" else "\n ]"
        else:
            yield json.dumps(value, ensure_ascii=False, indent=1).replace("\n", "\n ")
    yield "\n}\n"


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """Return a sort key that puts ``add-2`` before ``add-10``."""
    parts = [
        part.lstrip("0") if place % 2 else part for place, part in enumerate(re.split(r"([0-9]+)", text))
    ]
    return tuple((len(part) if place % 2 else 0, part) for place, part in enumerate(parts))


def one_line(text: str, longest: int = LONGEST) -> str:
    """Return text as one printable line: control characters and line ends become blanks."""
    # Escape sequences in the text of a page could rewrite what the terminal shows: CWE-150.
    flat = text if len(text) <= longest else f"{beginning(text, longest - 1)}…"
    if not flat.isprintable():
        flat = "".join(c if c.isprintable() else " " for c in flat)
    return flat


def printable(text: str, most_lines: int = 20) -> str:
    """Return text of several lines, each as ``one_line`` returns it; all but the first are indented."""
    lines = text.splitlines()
    more = [f"… {len(lines) - most_lines} more lines"] if len(lines) > most_lines else []
    return "\n  ".join([one_line(line, 500) for line in lines[:most_lines]] + more)


def list_names(names: Collection[str]) -> Iterator[str]:
    """Yield the first names as ``one_line`` returns them, then how many more there are."""
    for name in islice(names, MOST_NAMES):
        yield one_line(name)
    if len(names) > MOST_NAMES:
        yield f"and {len(names) - MOST_NAMES} more"


def join_first(texts: Sequence[str], most: int, separator: str = ", ") -> str:
    """Return the first texts joined, and how many more there are."""
    more = f"{'; and' if separator == '; ' else ' and'} {len(texts) - most} more" if len(texts) > most else ""
    return separator.join(texts[:most]) + more


def width_of(text: str) -> int:
    """Return how many columns of a terminal a printable text takes."""
    return sum(_columns(c) for c in text)


def fit(text: str, width: int, mark: str = "…") -> str:
    """Return text in exactly this many columns: cut with a mark, or padded with blanks."""
    if width_of(text) > width:
        text = text[: _places(text, width - len(mark))] + mark
    return text + " " * (width - width_of(text))


def wrap_text(text: str, width: int, indent: str = "  ") -> Iterator[str]:
    """Yield a text in lines of at most this many columns, broken between words if possible."""
    line = ""
    for word in text.split():
        longer = f"{line} {word}" if line.strip() else line + word
        if width_of(longer) > width and line.strip():
            yield line
            longer = indent + word
        while width_of(longer) > width:
            place = max(_places(longer, width), len(indent) + 1)
            yield longer[:place]
            longer = indent + longer[place:]
        line = longer
    if line.strip():
        yield line


def _places(text: str, width: int) -> int:
    """Return how many characters fit into this many columns."""
    used = 0
    for place, char in enumerate(text):
        used += _columns(char)
        if used > width:
            return place
    return len(text)


def _columns(char: str) -> int:
    # Unicode Standard Annex 11: wide and full-width characters take two columns, marks take none.
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
