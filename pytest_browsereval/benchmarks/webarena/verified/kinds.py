"""Typed values: one that a row expects, with its alternatives, and one that was answered or sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.benchmarks.webarena.verified import quantities, texts
from pytest_browsereval.benchmarks.webarena.verified.addresses import Address, Reading, read_address
from pytest_browsereval.benchmarks.webarena.verified.texts import Pattern, is_pattern, plain_text


@dataclass(frozen=True)
class Kind:
    """How values of a type are read and compared."""

    name: str
    read: Callable[[Any], Any]
    same: Callable[[Any, Any], bool] = lambda expected, actual: bool(expected == actual)
    tidied: Callable[[str], str] = plain_text
    """What is done to a text before it is read."""
    has_patterns: bool = False
    is_first_only: bool = False
    """True: of several alternatives the first one counts, as the benchmark has it."""


@dataclass(frozen=True)
class Typed:
    """A value of a kind."""

    kind: Kind
    alternatives: tuple[Any, ...]

    def same(self, actual: object) -> bool:
        """Compare with a value that was seen; blocks for a pattern.

        Raises:
            Fault: a pattern takes too long.
        """
        if not isinstance(actual, Typed) or actual.kind.name != self.kind.name:
            return False
        mine = self.alternatives[:1] if self.kind.is_first_only else self.alternatives
        return any(self.kind.same(one, other) for one in mine for other in actual.alternatives)

    def __str__(self) -> str:
        return " or ".join(str(getattr(one, "text", one)) for one in self.alternatives)


def _same_address(expected: Address, actual: Address) -> bool:
    return expected.same_path(actual) and expected.same_query(actual, lambda one, other: bool(one == other))


def _strip(text: str) -> str:
    return text.strip()


TEXT = Kind("string", texts.read_text, texts.same_text, has_patterns=True)
NUMBER = Kind("number", quantities.read_number)
URL = Kind("url", lambda value: read_address(value, Reading()), _same_address, _strip)

KINDS = {
    "string": TEXT,
    "number": NUMBER,
    "integer": NUMBER,
    "boolean": Kind("boolean", quantities.read_boolean),
    "currency": Kind("currency", quantities.read_money, quantities.same_money, is_first_only=True),
    "date": Kind("date", quantities.read_date),
    "month": Kind("month", quantities.read_month),
    "duration": Kind("duration", quantities.read_duration, quantities.same_duration),
    "distance": Kind("distance", quantities.read_distance, quantities.same_distance),
    "coordinates": Kind("coordinates", quantities.read_place, quantities.same_place, is_first_only=True),
    "location-name": Kind("location-name", texts.read_text, texts.same_name),
    "string_list": Kind("string_list", texts.read_list),
    "json": Kind("json", texts.read_json),
    "markdown": Kind("markdown", texts.read_markdown, tidied=_strip),
    "base64": Kind("base64", texts.read_base64, texts.same_bytes, _strip, has_patterns=True),
    "null": Kind("null", texts.read_empty, tidied=lambda text: text.strip().lower()),
    "url": URL,
}
"""By the ``format``, or else the ``type``, of a schema."""


def get_kind(name: object) -> Kind:
    """Return a kind.

    Raises:
        ValueError: there is none of that name; with those that there are.
    """
    if name not in KINDS:
        raise ValueError(f"the type {name!r} of a value is unknown. Known: {', '.join(KINDS)}.")
    return KINDS[str(name)]


def read_expected_value(kind: Kind, value: Any) -> Typed:
    """Return what a row expects; of a list any one is right.

    Raises:
        ValueError: it is not of that kind.
    """
    is_pair = kind.name == "coordinates" and isinstance(value, list | tuple) and len(value) == 2
    options = value if isinstance(value, list | tuple) and not is_pair else None
    if options is not None and len(options) < 2:
        raise ValueError(
            f"{value!r} is not a choice of several values; the value itself is written without a list."
        )
    return Typed(kind, tuple(_read(kind, option, is_ours=True) for option in options or [value]))


def read_seen_value(kind: Kind, value: Any) -> Typed | None:
    """Return a value that was answered or sent; None if it is not of that kind.

    A list is not a set of guesses: only coordinates are written as one.
    """
    if isinstance(value, list | tuple) and kind.name != "coordinates":
        return None
    try:
        return Typed(kind, (_read(kind, value, is_ours=False),))
    except (ValueError, TypeError, ArithmeticError):  # of an agent's making, and no fault
        return None


def _read(kind: Kind, value: Any, *, is_ours: bool) -> Any:
    if is_ours and kind.has_patterns and is_pattern(value):
        return Pattern(value)
    return kind.read(kind.tidied(value) if isinstance(value, str) else value)
