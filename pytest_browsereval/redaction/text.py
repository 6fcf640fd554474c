"""Secrets taken out of what is about to be written as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic_core import PydanticSerializationError, to_json


def well_formed(text: str) -> str:
    """Return text that can be written as UTF-8: halves of surrogate pairs are put together or replaced.

    JSON and JavaScript allow single ones, so models and pages may hold them.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def redacted(value: Any, redact: Callable[[str], str]) -> Any:
    """Return a JSON value with every text in it redacted and fit for UTF-8, names of fields too.

    Before it becomes JSON text: there a quote or a line break in a secret would be written in another
    way, and the secret not be found.
    """
    if isinstance(value, str):
        return redact(well_formed(value))
    if isinstance(value, dict):
        return {redact(well_formed(name)): redacted(inner, redact) for name, inner in value.items()}
    if isinstance(value, list):
        return [redacted(inner, redact) for inner in value]
    return value


def safe_line(value: Any, redact: Callable[[str], str]) -> tuple[bytes, Any]:
    """Return a JSON value as one line without secrets, with its end; and the value, if that was changed.

    Most lines hold no secret: all texts of one are looked through at once, and only a line in which
    something is found is gone through text by text.

    Args:
        value: what JSON can say.
        redact: replaces secrets in a text, wherever they stand in it.
    """
    if redact is str or not _is_changed(value, redact):
        try:
            return to_json(value) + b"\n", None
        except PydanticSerializationError:  # halves of surrogate pairs
            pass
    safe = redacted(value, redact)
    return to_json(safe) + b"\n", None if safe == value else safe


def _is_changed(value: Any, redact: Callable[[str], str]) -> bool:
    joined = "\n".join(_texts(value))
    return redact(joined) != joined


def _texts(value: Any) -> list[str]:
    found: list[str] = []
    inner = [value]
    for each in inner:  # which grows meanwhile: a call for each would take twice as long
        if isinstance(each, str):
            found.append(each)
        elif isinstance(each, dict):
            inner += each
            inner += each.values()
        elif isinstance(each, list):
            inner += each
    return found
