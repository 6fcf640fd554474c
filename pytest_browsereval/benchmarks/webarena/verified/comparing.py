"""A value with its schema read into typed parts, and two such values compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import JsonValue

from pytest_browsereval.benchmarks.webarena.verified import quantities, texts
from pytest_browsereval.benchmarks.webarena.verified.addresses import Address, Reading, read_address
from pytest_browsereval.benchmarks.webarena.verified.texts import Pattern, is_pattern, plain_text
from pytest_browsereval.graders.values import read_json, show
from pytest_browsereval.model.grades import Criterion, Verdict
from pytest_browsereval.redaction.known import beginning


@dataclass(frozen=True)
class Kind:
    """How values of a type are read and compared."""

    name: str
    read: Callable[[Any], Any]
    same: Callable[[Any, Any], bool] = lambda expected, actual: bool(expected == actual)
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
        if not isinstance(actual, Typed) or actual.kind.name != self.kind.name:
            return False
        mine = self.alternatives[:1] if self.kind.is_first_only else self.alternatives
        return any(self.kind.same(one, other) for one in mine for other in actual.alternatives)

    def __str__(self) -> str:
        return " or ".join(str(getattr(one, "text", one)) for one in self.alternatives)


def _same_address(expected: Address, actual: Address) -> bool:
    return expected.same_path(actual) and expected.same_query(actual, lambda one, other: bool(one == other))


TEXT = Kind("string", texts.read_text, texts.same_text)
NUMBER = Kind("number", quantities.read_number)
URL = Kind("url", lambda value: read_address(value, Reading()), _same_address, str.strip)

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
    "markdown": Kind("markdown", texts.read_markdown, tidied=str.strip),
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
    return Typed(kind, tuple(_read_one(kind, option, is_ours=True) for option in options or [value]))


def read_seen_value(kind: Kind, value: Any) -> Typed | None:
    """Return a value that was answered or sent; None if it is not of that kind.

    A list is not a set of guesses: only coordinates are written as one.
    """
    if isinstance(value, list | tuple) and kind.name != "coordinates":
        return None
    try:
        return Typed(kind, (_read_one(kind, value, is_ours=False),))
    except (ValueError, TypeError, ArithmeticError):  # of an agent's making, and no fault
        return None


def _read_one(kind: Kind, value: Any, *, is_ours: bool) -> Any:
    if is_ours and kind is TEXT and is_pattern(value):
        return Pattern(value)
    return kind.read(kind.tidied(value) if isinstance(value, str) else value)


Schema = Mapping[str, Any]
Read = Callable[[Kind, Any], Any]

OBJECT, ARRAY = "object", "array"


def check_schema(schema: JsonValue) -> None:
    """Refuse a schema with types that are not known.

    Raises:
        ValueError: with the type and those that are known.
    """
    if isinstance(schema, list):
        for part in schema:
            check_schema(part)
    if not isinstance(schema, dict):
        return
    name = schema.get("format") or schema.get("type", "string")
    if isinstance(name, str) and name not in (OBJECT, ARRAY):
        get_kind(name)
    check_schema(schema.get("items"))
    properties = schema.get("properties")
    for part in properties.values() if isinstance(properties, dict) else ():
        check_schema(part)


def read_expected(value: JsonValue, schema: Schema | None) -> Any:
    """Return what a row expects with its values typed.

    Raises:
        ValueError: a value is not of the type that the schema says.
    """
    return _read(value, schema or {}, read_expected_value)


def read_seen(value: JsonValue, schema: Schema | None) -> Any:
    """Return what was answered or sent with its values typed; a value that cannot be read stays as it is."""

    def read(kind: Kind, part: Any) -> Any:
        typed = read_seen_value(kind, part)
        return part if typed is None else typed

    return _read(value, schema or {}, read)


def _read(value: Any, schema: Schema, read: Read) -> Any:
    if value is None:
        return None
    kind = schema.get("type")
    if kind == ARRAY:
        value, items = _parse(value, list), schema.get("items") or {}
        return tuple(_item(one, items, read) for one in value) if isinstance(value, list | tuple) else value
    if kind == OBJECT:
        value, properties = _parse(value, dict), schema.get("properties") or {}
        if not isinstance(value, Mapping):
            return value
        return {
            key: None
            if part is None
            else _read(part, properties[key], read)
            if key in properties
            else read(TEXT, part)
            for key, part in value.items()
        }
    return read(get_kind(schema.get("format") or schema.get("type", "string")), value)


def _item(value: Any, schema: Schema, read: Read) -> Any:
    if isinstance(value, list) and schema.get("type") == OBJECT:
        return tuple(_read(part, schema, read) for part in value)
    # A null in a list is a value of its own, which no kind but `null` reads.
    return read(KINDS["null"], value) if value is None else _read(value, schema, read)


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
    if expected is None or actual is None:
        is_same = expected is actual
    elif isinstance(expected, Mapping):
        return _objects(expected, actual, how, path)
    elif isinstance(expected, list | tuple):
        return _arrays(expected, actual, how, path)
    else:
        is_same = expected.same(actual) if isinstance(expected, Typed) else expected == actual
    return [] if is_same else [_describe_difference(path, expected, actual)]


def _describe_difference(path: str, expected: Any, actual: Any) -> str:
    return f"{path or 'the value'} is {show(plain(actual), 200)}, not {show(plain(expected), 200)}"


def plain(value: Any) -> Any:
    """Return a read value as plain JSON."""
    if isinstance(value, Typed):
        return str(value)
    if isinstance(value, Mapping):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return value


def _objects(expected: Mapping[str, Any], actual: Any, how: How, path: str) -> list[str]:
    if not isinstance(actual, Mapping):
        return [f"{path or 'the value'} is {show(plain(actual), 200)}, and an object was expected"]
    found: list[str] = []
    if missing := sorted(expected.keys() - actual.keys()):
        found.append(f"{path or 'the value'} lacks {', '.join(missing)}")
    if (extra := sorted(actual.keys() - expected.keys())) and not how.extra_keys:
        found.append(f"{path or 'the value'} has also {', '.join(map(str, extra))}")
    for key in expected:
        if key in actual:
            found += differences(expected[key], actual[key], how, f"{path}.{key}" if path else key)
    return found


def _arrays(expected: Sequence[Any], actual: Any, how: How, path: str) -> list[str]:
    if not isinstance(actual, list | tuple):
        return [f"{path or 'the value'} is {show(plain(actual), 200)}, and a list was expected"]
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


def make_criterion(name: str, expected: Any, actual: Any, problem: str) -> Criterion:
    """Return a criterion that passes unless there is a problem; its values are not cut."""
    verdict = Verdict.FAILED if problem else Verdict.PASSED
    reason = beginning(problem, 1_000)
    return Criterion(name=name, verdict=verdict, expected=expected, actual=actual, reason=reason)
