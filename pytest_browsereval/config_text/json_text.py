"""JSON with line numbers, and without repeated keys."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from pytest_browsereval.config_text.base import Document, DocumentError, KeyPath, find_line

_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
"""An escape that may be half a character: JSON writes characters beyond U+FFFF as two halves."""


def json_value(text: str) -> Any:
    """Return the value of a JSON text, without repeated keys, NaN and infinities.

    Raises:
        DocumentError: it is not JSON.
    """
    try:
        value = json.loads(
            text, object_pairs_hook=_refuse_repeated_keys, parse_constant=_no_constant, parse_float=_finite
        )
        # `json` accepts a lone half, and then no file, log or terminal can hold the text.
        if _SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        raise DocumentError(f"not JSON: {error.msg} (column {error.colno}).", error.lineno) from None
    except RecursionError:
        raise DocumentError("not readable: nested too deeply.") from None
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        line = text.lower().count("\n", 0, max(text.lower().find(ascii(half)[1:-1]), 0)) + 1
        message = f"{half!r} is half a character, which no file can hold. Leave it out."
        raise DocumentError(message, line) from None
    except ValueError as error:
        raise DocumentError(f"not JSON: {error}.") from None
    return value


def is_deep(value: Any, levels: int) -> bool:
    """Return whether a value has lists and objects in each other on more levels than these."""
    level = [value]
    while level and (levels := levels - 1) >= 0:
        inner = [part for part in level if isinstance(part, dict | list)]
        level = [one for part in inner for one in (part.values() if isinstance(part, dict) else part)]
    return bool(level)


def _refuse_repeated_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    # RFC 8259 leaves the meaning of repeated keys open; Python silently takes the last one.
    block = dict(pairs)
    if len(block) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice!r} occurs twice; leave one out")
    return block


def _no_constant(name: str) -> NoReturn:
    # Python reads and writes NaN and Infinity, and other programs refuse the files that have them.
    raise ValueError(f"{name} is not a number in JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:20]} is too large a number")
    return number


def parse_json(text: str) -> Document:
    """Return the document of a JSON text.

    Raises:
        DocumentError: it is not JSON.
    """
    value = json_value(text)
    lines: dict[KeyPath, int] = {}  # found only if someone asks, as `json` has no positions

    def line_of(path: KeyPath) -> int | None:
        if not lines:
            lines.update(_json_lines(text))
        return find_line(lines, path)

    return Document(value, line_of)


_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


def _json_lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Yield the line of every value of a text that is known to be JSON."""
    path: list[str | int] = []
    line, done = 1, 0
    expects_key = is_new_entry = False
    yield (), 1
    for token in _JSON_TOKEN.finditer(text):
        line += text.count("\n", done, token.start())
        done, word = token.start(), token[0]
        if is_new_entry and word != "]":
            yield tuple(path), line
        is_new_entry = False
        if word == "{":
            expects_key = True
            path.append("")
        elif word == "[":
            path.append(0)
            is_new_entry = True
        elif word in "}]":
            path.pop()
            expects_key = False
        elif word == "," and isinstance(path[-1], int):
            path[-1] += 1
            is_new_entry = True
        elif word == ",":
            expects_key = True
        elif expects_key:
            path[-1] = json.loads(word)
            expects_key = False
            yield tuple(path), line
