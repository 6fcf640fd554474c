"""Redacts secrets in values that are about to be written as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pydantic_core import to_json

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_HALVES = re.compile("[\ud800-\udfff]+")


def well_formed(text: str) -> str:
    """Return text that can be written as UTF-8: halves of surrogate pairs are put together or replaced.

    JSON and JavaScript allow single ones, so models and pages may hold them.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        # A codec calls its error handler for each half, which takes seconds where there are millions.
        whole = _PAIR.sub(lambda m: m[0].encode("utf-16", "surrogatepass").decode("utf-16"), text)
        return _HALVES.sub(lambda m: "\N{REPLACEMENT CHARACTER}" * len(m[0]), whole)
    return text


def map_leaves(
    value: Any, change: Callable[[Any], Any], change_name: Callable[[str], str] | None = None
) -> Any:
    """Return plain JSON with all changed that is neither an object nor a list or tuple.

    Args:
        value: is not changed itself.
        change: returns what stands in the place of a text, a number, a boolean or ``None``.
        change_name: the same for the names of fields, which stay without it.
    """
    if isinstance(value, dict):
        return {
            change_name(name) if change_name else name: map_leaves(inner, change, change_name)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return type(value)(map_leaves(inner, change, change_name) for inner in value)
    return change(value)


def map_texts(
    value: Any, change: Callable[[str], Any], change_name: Callable[[str], str] | None = None
) -> Any:
    """Return plain JSON with its texts changed, as ``map_leaves`` does it."""
    return map_leaves(value, lambda leaf: change(leaf) if isinstance(leaf, str) else leaf, change_name)


def redact_json(value: Any, redact: Callable[[str], str]) -> Any:
    """Return a JSON value with every text in it redacted and fit for UTF-8, names of fields too.

    Before it becomes JSON text: there a quote or a line break in a secret would be written in another
    way, and the secret not be found. Most values hold no secret: all texts of one are looked through at
    once, and only one in which something is found is gone through text by text.

    Args:
        value: is not changed itself, and returned where nothing is found.
        redact: replaces secrets in a text, wherever they stand in it.
    """
    if redact(joined := "\n".join(_texts(value))) == well_formed(joined) == joined:
        return value

    def safe(text: str) -> str:
        return redact(well_formed(text))

    return map_texts(value, safe, safe)


def redact_line(value: Any, redact: Callable[[str], str]) -> tuple[bytes, Any]:
    """Return a JSON value as one line without secrets, with its end; and the value, if that was changed."""
    safe = redact_json(value, redact)
    return to_json(safe) + b"\n", None if safe == value else safe


def _texts(value: Any) -> list[str]:
    found: list[str] = []
    inner = [value]
    for each in inner:  # which grows meanwhile: a call for each would take twice as long
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, dict):
            inner += each
            inner += each.values()
        elif isinstance(each, list | tuple):
            inner += each
    return found
