"""A value with its schema read into typed parts, and two such values compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from operator import eq
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, model_validator

from pytest_browsereval.benchmarks.webarena.verified import quantities, texts
from pytest_browsereval.benchmarks.webarena.verified.addresses import read_address
from pytest_browsereval.benchmarks.webarena.verified.texts import Pattern, is_pattern, plain_text
from pytest_browsereval.graders.values import read_json, show


@dataclass(frozen=True, eq=False)
class Kind:
    """How values of a type are read and compared."""

    read: Callable[[Any], Any]
    same: Callable[[Any, Any], bool] = eq
    tidied: Callable[[str], str] = plain_text
    """What is done to a text before it is read."""
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
        if not isinstance(actual, Typed) or actual.kind is not self.kind:
            return False
        mine = self.alternatives[:1] if self.kind.is_first_only else self.alternatives
        return any(self.kind.same(one, other) for one in mine for other in actual.alternatives)

    def __str__(self) -> str:
        return " or ".join(str(getattr(one, "text", one)) for one in self.alternatives)


TEXT = Kind(texts.read_text, texts.same_text)
NUMBER = Kind(quantities.read_number)
PLACE = Kind(quantities.read_place, quantities.same_place, is_first_only=True)
EMPTY = Kind(texts.read_empty, tidied=lambda text: text.strip().lower())

KINDS = {
    "string": TEXT,
    "number": NUMBER,
    "integer": NUMBER,
    "boolean": Kind(quantities.read_boolean),
    "currency": Kind(quantities.read_money, quantities.are_near(Decimal("0.1")), is_first_only=True),
    "date": Kind(quantities.read_date),
    "month": Kind(quantities.read_month),
    "duration": Kind(quantities.read_duration, quantities.are_near(timedelta(minutes=3), 0.1)),
    "distance": Kind(quantities.read_distance, quantities.are_near(Decimal(10), Decimal("0.02"))),
    "coordinates": PLACE,
    "location-name": Kind(texts.read_text, texts.same_name),
    "string_list": Kind(texts.read_list),
    "json": Kind(texts.read_json),
    "markdown": Kind(texts.read_markdown, tidied=str.strip),
    "null": EMPTY,
    "url": Kind(read_address, lambda one, other: one.same_path(other) and one.same_query(other), str.strip),
}
"""By the ``format``, or else the ``type``, of a schema."""

OBJECT, ARRAY = "object", "array"


class Block(BaseModel):
    """A part of a row. The published file writes null for a key that is left out."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _drop_nulls(cls, given: Any) -> Any:
        return {k: v for k, v in given.items() if v is not None} if isinstance(given, dict) else given


class Schema(BaseModel):
    """What values are, as a row says it."""

    model_config = ConfigDict(frozen=True)

    type: str | None = None
    format: str | None = None
    items: Schema | None = None
    properties: dict[str, Schema] = {}

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.name not in (OBJECT, ARRAY, *KINDS):
            raise ValueError(f"the type {self.name!r} of a value is unknown. Known: {', '.join(KINDS)}.")
        return self

    @property
    def name(self) -> str:
        """Of the kind of the values."""
        return self.format or self.type or "string"


TEXTS = Schema(type="object")
"""Of texts by names."""


def read_expected_value(kind: Kind, value: Any) -> Typed:
    """Return what a row expects; of a list any one is right.

    Raises:
        ValueError: it is not of that kind.
    """
    is_pair = kind is PLACE and isinstance(value, list | tuple) and len(value) == 2
    options = value if isinstance(value, list | tuple) and not is_pair else None
    if options is not None and len(options) < 2:
        raise ValueError(f"{value!r} is not a choice of several values. Write the value without a list.")
    return Typed(kind, tuple(_read_one(kind, option, is_ours=True) for option in options or [value]))


def read_seen_value(kind: Kind, value: Any) -> Any:
    """Return a value that was answered or sent; one that is not of that kind stays as it is.

    A list is not a set of guesses: only coordinates are written as one.
    """
    if isinstance(value, list | tuple) and kind is not PLACE:
        return value
    try:
        return Typed(kind, (_read_one(kind, value, is_ours=False),))
    except (ValueError, TypeError, ArithmeticError):  # of an agent's making, and no fault
        return value


def _read_one(kind: Kind, value: Any, *, is_ours: bool) -> Any:
    if is_ours and kind is TEXT and is_pattern(value):
        return Pattern(value)
    return kind.read(kind.tidied(value) if isinstance(value, str) else value)


def read_expected(value: Any, schema: Schema) -> Any:
    """Return what a row expects with its parts typed; a part that the schema does not name is a text.

    Raises:
        ValueError: a part is not of the type that the schema says.
    """
    return _read(value, schema, read_expected_value)


def read_seen(value: Any, schema: Schema) -> Any:
    """Return what was answered or sent with its parts typed; one that cannot be read stays as it is."""
    return _read(value, schema, read_seen_value)


def _read(value: Any, schema: Schema, read: Callable[[Kind, Any], Any]) -> Any:
    if value is None:
        return None
    if schema.type == ARRAY:
        value, items = _parse(value, list), schema.items or Schema()
        return tuple(_item(one, items, read) for one in value) if isinstance(value, list | tuple) else value
    if schema.type == OBJECT:
        value, properties = _parse(value, dict), schema.properties
        if not isinstance(value, Mapping):
            return value
        return {key: _read(part, properties.get(key, Schema()), read) for key, part in value.items()}
    return read(KINDS[schema.name], value)


def _item(value: Any, schema: Schema, read: Callable[[Kind, Any], Any]) -> Any:
    if isinstance(value, list) and schema.type == OBJECT:
        return tuple(_read(part, schema, read) for part in value)
    # A null in a list is a value of its own, which no kind but `null` reads.
    return read(EMPTY, value) if value is None else _read(value, schema, read)


def _parse(value: Any, kind: type) -> Any:
    """Return the JSON value of a text that holds one of that type."""
    parsed = read_json(value) if isinstance(value, str) else value
    return parsed if isinstance(parsed, kind) else value


# -- comparing


class How(NamedTuple):
    """How values are compared."""

    ordered: bool = False
    """Whether the order of lists counts."""
    extra_keys: bool = False
    """Whether objects may have more keys than are expected."""


_PLAINLY = How()


def differences(expected: Any, actual: Any, how: How = _PLAINLY, path: str = "") -> list[str]:
    """Return what differs, in a sentence each; blocks for patterns.

    Args:
        expected: as ``read_expected`` returns it.
        actual: as ``read_seen`` returns it.
        how: what counts.
        path: where both are, for the sentences.

    Raises:
        Fault: a pattern takes too long.
    """
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        return _objects(expected, actual, how, path)
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        return _arrays(expected, actual, how, path)
    if expected.same(actual) if isinstance(expected, Typed) else expected == actual:
        return []
    return [f"{path or 'the value'} is {show(plain(actual), 200)}, not {show(plain(expected), 200)}"]


def are_same(expected: Any, actual: Any) -> bool:
    """Return whether nothing differs; see ``differences``."""
    return not differences(expected, actual)


def plain(value: Any) -> Any:
    """Return a read value as plain JSON."""
    if isinstance(value, Typed):
        return str(value)
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value


def _objects(expected: Mapping[str, Any], actual: Mapping[str, Any], how: How, path: str) -> list[str]:
    found: list[str] = []
    if missing := sorted(expected.keys() - actual.keys()):
        found.append(f"{path or 'the value'} lacks {', '.join(missing)}")
    if (extra := sorted(actual.keys() - expected.keys())) and not how.extra_keys:
        found.append(f"{path or 'the value'} also has {', '.join(map(str, extra))}")
    for key in expected:
        if key in actual:
            found += differences(expected[key], actual[key], how, f"{path}.{key}" if path else key)
    return found


def _arrays(expected: Sequence[Any], actual: Sequence[Any], how: How, path: str) -> list[str]:
    left, order = list(actual), ""
    if how.ordered:
        order = " in order"
        matched = sum(not differences(one, other, how) for one, other in zip(expected, left, strict=False))
    else:
        for one in expected:
            # Each value is used up once: two equal expectations need two values.
            place = next((n for n, other in enumerate(left) if not differences(one, other, how)), None)
            if place is not None:
                del left[place]
        matched = len(actual) - len(left)
    if len(expected) == len(actual) == matched:
        return []
    message = f"{path or 'the list'} has {matched} of the {len(expected)} expected values{order}"
    more = len(actual) - matched
    return [f"{message}{f' and {more} others' if more else ''}: {show(plain(actual), 200)}"]
