"""Text of pages, models and rows, made fit for a terminal: one line, of a known width, steering nothing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice

from pytest_browsereval.redaction.known import beginning

LONGEST = 200
"""Characters of a text that are shown before it is cut."""

MOST_NAMES = 20
"""Names that a list has before the rest is counted."""


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent with its decimals; only all is 100.0% and only nothing is 0.0%."""
    is_end = share < 1e-9 or share > 1 - 1e-9  # ends of intervals are off by the last digits of a float
    least = 10.0 ** -(digits + 2)
    return f"{share if is_end else min(max(share, least), 1 - least):.{digits}%}"


def plain(value: float, digits: int = 2) -> str:
    """Return a number with its decimals."""
    return f"{value:.{digits}f}"


def digits_apart(
    bound: float, *values: float, write: Callable[[float, int], str] = percent, least: int = 1
) -> int:
    """Return with how many digits no value reads like a bound that it differs from.

    A pass rate that is a little under 90 % "is under 90.0%" and must not be written like that.

    Args:
        bound: what the values are compared with.
        values: the numbers that are written beside it.
        write: writes a number with so many digits.
        least: how many digits there are at least.
    """
    apart = [value for value in values if abs(value - bound) > 1e-9]
    for digits in range(least, least + 8):
        if all(write(value, digits) != write(bound, digits) for value in apart):
            return digits
    return least


def format_count(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: ``1 row``, ``1,200 rows``.

    Args:
        number: how many.
        noun: of one.
        plural: of any other number; the noun with an ``s`` by default.
    """
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def natural(text: str) -> tuple[tuple[int, str], ...]:
    """Return what texts are sorted by, so that ``add-2`` comes before ``add-10``."""
    parts = [
        part.lstrip("0") if place % 2 else part for place, part in enumerate(re.split(r"([0-9]+)", text))
    ]
    return tuple((len(part) if place % 2 else 0, part) for place, part in enumerate(parts))


def one_line(text: str, longest: int = LONGEST) -> str:
    """Return text as one printable line: control characters and line ends become blanks."""
    flat = text if len(text) <= longest else f"{beginning(text, longest - 1)}…"
    if not flat.isprintable():
        flat = "".join(c if c.isprintable() else " " for c in flat)
    return flat


def printable(text: str, most_lines: int = 20) -> str:
    """Return text of several lines, each as ``one_line`` gives it; all but the first are indented."""
    lines = text.splitlines()
    more = [f"… {len(lines) - most_lines} more lines"] if len(lines) > most_lines else []
    return "\n  ".join([one_line(line, 500) for line in lines[:most_lines]] + more)


def list_names(names: Collection[str]) -> Iterator[str]:
    """Yield the first names of many as ``one_line`` gives them, then how many more there are."""
    for name in islice(names, MOST_NAMES):
        yield one_line(name)
    if len(names) > MOST_NAMES:
        yield f"and {len(names) - MOST_NAMES} more"


def join_first(texts: Sequence[str], most: int, separator: str = ", ") -> str:
    """Return the first of some texts as one, and how many more there are."""
    more = f"{'; and' if separator == '; ' else ' and'} {len(texts) - most} more" if len(texts) > most else ""
    return separator.join(texts[:most]) + more


def width_of(text: str) -> int:
    """Return how many columns a terminal needs for a printable text."""
    return sum(_columns(c) for c in text)


def fit(text: str, width: int, mark: str = "…") -> str:
    """Return text in exactly so many columns: cut with a mark, or filled up with blanks."""
    if width_of(text) > width:
        text = text[: _places(text, width - len(mark))] + mark
    return text + " " * (width - width_of(text))


def wrap_text(text: str, width: int, indent: str = "  ") -> Iterator[str]:
    """Yield a text in lines of at most so many columns, broken between words where that is possible."""
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
    """Return how many characters fit into so many columns."""
    used = 0
    for place, char in enumerate(text):
        used += _columns(char)
        if used > width:
            return place
    return len(text)


def _columns(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
