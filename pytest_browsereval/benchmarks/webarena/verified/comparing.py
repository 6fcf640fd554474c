"""A value with its schema read into typed parts, and two such values compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from pytest_browsereval.benchmarks.webarena.verified.kinds import (
    KINDS,
    TEXT,
    Kind,
    Typed,
    get_kind,
    read_expected_value,
    read_seen_value,
)
from pytest_browsereval.graders.values import read_json, show
from pytest_browsereval.model.grades import Criterion, Verdict
from pytest_browsereval.redaction.known import beginning

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
        return _array(value, schema.get("items") or {}, read)
    if kind == OBJECT:
        return _object(value, schema.get("properties") or {}, read)
    return read(get_kind(schema.get("format") or schema.get("type", "string")), value)


def _array(value: Any, items: Schema, read: Read) -> Any:
    value = _parse(value, list)
    if not isinstance(value, list | tuple):
        return value
    return tuple(_item(item, items, read) for item in value)


def _item(value: Any, schema: Schema, read: Read) -> Any:
    if isinstance(value, list) and schema.get("type") == OBJECT:
        return tuple(_read(part, schema, read) for part in value)
    # A null in a list is a value of its own, which no kind but `null` reads.
    return read(KINDS["null"], value) if value is None else _read(value, schema, read)


def _object(value: Any, properties: Schema, read: Read) -> Any:
    value = _parse(value, dict)
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


def _parse(value: Any, kind: type) -> Any:
    """Return the JSON value of a text that holds one of that type."""
    parsed = read_json(value) if isinstance(value, str) else value
    return parsed if isinstance(parsed, kind) else value


# -- comparing


def differences(
    expected: Any, actual: Any, *, ordered: bool = False, path: str = "", extra_keys: bool = False
) -> list[str]:
    """Return what differs, in a sentence each; blocks for patterns.

    Args:
        expected: as ``read_expected`` returns it.
        actual: as ``read_seen`` returns it.
        ordered: whether the order of lists counts.
        path: where both are, for the sentences.
        extra_keys: whether objects may have more keys than are expected.

    Raises:
        Fault: a pattern takes too long.
    """
    if expected is None or actual is None:
        is_same = expected is None and actual is None
        return [] if is_same else [_describe_difference(path, expected, actual)]
    if isinstance(expected, Mapping):
        return _objects(expected, actual, ordered=ordered, path=path, extra_keys=extra_keys)
    if isinstance(expected, list | tuple):
        return _arrays(expected, actual, ordered=ordered, path=path, extra_keys=extra_keys)
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


def _objects(
    expected: Mapping[str, Any], actual: Any, *, ordered: bool, path: str, extra_keys: bool
) -> list[str]:
    if not isinstance(actual, Mapping):
        return [f"{path or 'the value'} is {show(plain(actual), 200)}, and an object was expected"]
    found: list[str] = []
    if missing := sorted(expected.keys() - actual.keys()):
        found.append(f"{path or 'the value'} lacks {', '.join(missing)}")
    if (extra := sorted(actual.keys() - expected.keys())) and not extra_keys:
        found.append(f"{path or 'the value'} has also {', '.join(map(str, extra))}")
    for key in expected:
        if key in actual:
            inner = f"{path}.{key}" if path else key
            found += differences(
                expected[key], actual[key], ordered=ordered, path=inner, extra_keys=extra_keys
            )
    return found


def _arrays(expected: Sequence[Any], actual: Any, *, ordered: bool, path: str, extra_keys: bool) -> list[str]:
    if not isinstance(actual, list | tuple):
        return [f"{path or 'the value'} is {show(plain(actual), 200)}, and a list was expected"]

    def is_same(one: Any, other: Any) -> bool:
        return not differences(one, other, ordered=ordered, extra_keys=extra_keys)

    if ordered:
        pairs = zip(expected, actual, strict=False)
        matched = sum(is_same(one, other) for one, other in pairs)
        fits = len(expected) == len(actual) == matched
    else:
        left = list(actual)
        for one in expected:
            # Each value is used up once: two equal expectations need two values.
            place = next((n for n, other in enumerate(left) if is_same(one, other)), None)
            if place is not None:
                del left[place]
        matched = len(actual) - len(left)
        fits = matched == len(expected) and not left
    order = " in order" if ordered else ""
    message = f"{path or 'the list'} has {matched} of the {len(expected)} expected values{order}"
    more = len(actual) - matched
    return [] if fits else [f"{message}{f' and {more} others' if more else ''}: {show(plain(actual), 200)}"]


def make_criterion(name: str, expected: Any, actual: Any, problem: str) -> Criterion:
    """Return a criterion that passes unless there is a problem; its values are not cut."""
    verdict = Verdict.FAILED if problem else Verdict.PASSED
    reason = beginning(problem, 1_000)
    return Criterion(name=name, verdict=verdict, expected=expected, actual=actual, reason=reason)
