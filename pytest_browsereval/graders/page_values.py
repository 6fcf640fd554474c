"""JSON values of a live page, read by the browser itself, so that the page's scripts cannot change them.

A page may have replaced ``JSON.stringify``, ``toJSON`` or methods of arrays, by malice or by an old library.
So objects cross the protocol by value, and what we run in the page is made of syntax only.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import JsonValue

from pytest_browsereval.errors import BrowserEvalError
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.redaction.text import well_formed

if TYPE_CHECKING:
    from playwright.async_api import CDPSession

LIMIT_CHARS = 2_000_000
"""How much JSON is read."""
DEPTH_LIMIT = 100

# Own properties only, as JSON has them; a spread asks no method of the page's, unless it is a proxy's.
_MEASURE = Path(__file__).with_name("measure.js").read_text(encoding="utf-8")
_SAME = "function() { return this; }"
_COPY = "function() { return {__proto__: null, ...this}; }"
_BY_VALUE = {"serialization": "deep", "maxDepth": DEPTH_LIMIT + 2}

# What JSON leaves out of an object and calls null in a list.
_LEFT_OUT = ("undefined", "function", "symbol")
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")


class NoValue(BrowserEvalError):
    """The page has no such value: an expression threw, or what it gave is not JSON."""


class _HoldsProxy(Exception):
    """The browser does not serialize the target of a proxy."""


def make_plain(value: Any, depth: int = 0) -> JsonValue:
    """Return a JSON value without what cannot be written as UTF-8 JSON.

    Raises:
        NoValue: it is nested too deeply, or a number is too large.
    """
    if depth > DEPTH_LIMIT:
        raise NoValue(f"the value is nested more than {DEPTH_LIMIT} deep")
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {str(make_plain(key)): make_plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [make_plain(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise NoValue("a number of the value is not finite")
    return value  # type: ignore[no-any-return]


async def send(session: CDPSession, method: str, **params: Any) -> dict[str, Any]:
    """Send a command and return its reply.

    Raises:
        NoValue: what ran in the page threw.
    """
    reply: dict[str, Any] = await session.send(method, params)
    if details := reply.get("exceptionDetails"):
        thrown = details.get("exception", {})
        message = thrown.get("description") or thrown.get("value") or details.get("text")
        raise NoValue(f"it threw {beginning(str(message).splitlines()[0], 200)}")
    return reply


async def read_value(session: CDPSession, remote: dict[str, Any]) -> JsonValue:
    """Return the JSON value of what an expression gave; functions are called.

    Objects have their own properties, and dates are texts; ``toJSON`` is not called.

    Args:
        session: to the page.
        remote: as the protocol names it.

    Raises:
        NoValue: it is not JSON, or too much of it.
    """
    if remote["type"] == "function":
        remote = await _call(session, remote, "function() { return this(); }", awaitPromise=True)
    if not _is_object(remote):
        return make_plain(_read_primitive(remote))
    if remote.get("subtype") not in (None, "array", "date", "proxy"):
        raise NoValue(_describe_kind(remote["subtype"]))
    limits = [{"value": LIMIT_CHARS}, {"value": DEPTH_LIMIT}]
    measured = await _call(session, remote, _MEASURE, arguments=limits, serializationOptions=_BY_VALUE)
    if measured["type"] == "boolean":
        raise NoValue(
            f"the value is nested more than {DEPTH_LIMIT} deep, or holds itself"
            if measured["value"]
            else f"its JSON has more than {LIMIT_CHARS} characters, which are the most that is read"
        )
    if measured["deepSerializedValue"]["type"] not in ("object", "array", "date", "proxy"):
        raise NoValue(_describe_kind(str(measured.get("className"))))
    return make_plain(await _read_object(session, measured))


def _is_object(remote: dict[str, Any]) -> bool:
    return remote["type"] == "object" and "objectId" in remote


def _describe_kind(kind: str) -> str:
    return f"it is a {kind}, which is not JSON; ask for a text or a number of it"


def _read_primitive(remote: dict[str, Any]) -> JsonValue:
    odd = str(remote.get("unserializableValue", "a symbol" if remote["type"] == "symbol" else ""))
    # JSON has no negative zero, and a check that expects 0 means this one too.
    if odd == "-0":
        return 0
    # A BigInt, which JSON.stringify refuses; as a number it can be compared.
    if odd.endswith("n"):
        return int(odd[:-1])
    if odd:
        raise NoValue(f"it is {odd}, which is not JSON")
    value: JsonValue = remote.get("value")
    return value


async def _call(session: CDPSession, remote: dict[str, Any], function: str, **params: Any) -> dict[str, Any]:
    given = {"functionDeclaration": function, "objectId": remote["objectId"], **params}
    result: dict[str, Any] = (await send(session, "Runtime.callFunctionOn", **given))["result"]
    return result


# -- objects


async def _read_object(session: CDPSession, remote: dict[str, Any]) -> Any:
    try:
        return _convert(remote["deepSerializedValue"], {})
    except _HoldsProxy:
        return await _walk_proxy(session, remote)


def _convert(typed: dict[str, Any], known: dict[int, Any]) -> Any:
    """Return the value that the protocol writes down with its types."""
    kind, value = typed["type"], typed.get("value")
    reference = typed.get("weakLocalObjectReference")
    if value is None and reference in known:
        return known[reference]  # an object that stands in several places has its value in the first
    made = _convert_type(kind, value, known)
    if reference is not None:
        known[reference] = made
    return made


def _convert_type(kind: str, value: Any, known: dict[int, Any]) -> Any:
    if kind == "proxy":
        raise _HoldsProxy
    if kind == "object":
        return {name: _convert(item, known) for name, item in value if item["type"] not in _LEFT_OUT}
    if kind == "array":
        return [_convert(item, known) for item in value]
    if kind in ("string", "boolean") or (kind == "number" and not isinstance(value, str)):
        return value
    if kind == "bigint" or value == "-0":
        return int(value)
    if kind == "date" and value != "Invalid Date":
        return value
    return None if kind in ("null", "number", "date", *_LEFT_OUT) else {}


# -- proxies, which Vue and MobX make of all that they hold


async def _walk_proxy(session: CDPSession, remote: dict[str, Any]) -> Any:
    """Read an object of which the browser sees a part only, property by property."""
    is_list = (await _find_target(session, remote)).get("subtype") == "array"
    copy = await _call(session, remote, _COPY)
    own = {"objectId": copy["objectId"], "ownProperties": True}
    found: dict[str, Any] = {}
    for one in (await send(session, "Runtime.getProperties", **own))["result"]:
        item = one.get("value", {"type": "symbol"})
        if is_list or item["type"] not in _LEFT_OUT:
            found[one["name"]] = await _read_item(session, item)
    return list(found.values()) if is_list else found


async def _find_target(session: CDPSession, remote: dict[str, Any]) -> dict[str, Any]:
    """Return what a proxy stands for, or what is not a proxy."""
    # Vue wraps proxies around proxies.
    while remote.get("subtype") == "proxy":
        parts = await send(session, "Runtime.getProperties", objectId=remote["objectId"], ownProperties=True)
        internal = {one["name"]: one["value"] for one in parts["internalProperties"] if "value" in one}
        remote = internal["[[Target]]"]
    return remote


async def _read_item(session: CDPSession, remote: dict[str, Any]) -> Any:
    if _is_object(remote):
        whole = await _call(session, remote, _SAME, serializationOptions=_BY_VALUE)
        return await _read_object(session, whole)
    if remote["type"] in _LEFT_OUT or remote.get("unserializableValue") in _NOT_FINITE:
        return None
    return _read_primitive(remote)
