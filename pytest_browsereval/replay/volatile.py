"""What of a model call differs each time that it is made, and means nothing: told apart from the rest."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

PICTURE = "<picture>"
"""Stands for a picture: drawn anew, it is never the same to the last bit."""

_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_KINDS = {
    "origin": r"(?:127\.0\.0\.1|localhost|\[::1\])(?::|%3[Aa])\d{1,5}\b",
    "id": r"\b[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b|\b[0-9A-Fa-f]{16,}\b",
    "time": (
        rf"\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (?:{_MONTHS}) \d{{4}} \d\d:\d\d:\d\d GMT\b"
        r"|\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?(?!\d)"
        r"|\b\d\d:\d\d:\d\d(?:\.\d+)?\b"
        r"|\b1[5-9]\d{11}\b"  # milliseconds since 1970
    ),
}
_VOLATILE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _KINDS.items()))
_PICTURE = re.compile(r"data:[\w.+-]+/[\w.+-]+;base64,[A-Za-z0-9+/=]+")
_BARE_PICTURE = re.compile(r"[A-Za-z0-9+/]{200,}={0,2}\Z")
_AROUND = 30
"""Characters that are shown on either side of a difference."""


def without_pictures(value: Any) -> Any:
    """Return plain JSON with ``<picture>`` for every picture in it."""
    if isinstance(value, str):
        return PICTURE if _BARE_PICTURE.match(value) else _PICTURE.sub(PICTURE, value)
    if isinstance(value, dict):
        return {name: without_pictures(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [without_pictures(inner) for inner in value]
    return value


def marked(value: Any) -> tuple[Any, list[str]]:
    """Return plain JSON with marks for what is volatile, and what that was, in order.

    Volatile are ports of this machine, dates and times, UUIDs and hexadecimal numbers of 16 digits or more.
    """
    found: list[str] = []
    return _marked(value, found), found


def _marked(value: Any, found: list[str]) -> Any:
    if isinstance(value, str):
        return _VOLATILE.sub(lambda match: _mark(match, found), value)
    if isinstance(value, dict):  # in one order, whatever the provider's or the agent's is
        return {name: _marked(value[name], found) for name in sorted(value)}
    if isinstance(value, list):
        return [_marked(inner, found) for inner in value]
    return value


def _mark(match: re.Match[str], found: list[str]) -> str:
    found.append(match[0])
    return f"<{match.lastgroup}>"


def volatile_spans(text: str) -> list[tuple[int, int]]:
    """Return where in a text something volatile stands: from which character, and before which."""
    return [match.span() for match in _VOLATILE.finditer(text)]


def exchanged(value: Any, names: Mapping[str, str]) -> Any:
    """Return plain JSON with volatile texts exchanged for others.

    Args:
        value: a recorded reply, which names what was volatile in its request.
        names: what stands in the request now, by what stood there then.
    """
    if isinstance(value, str):
        return _VOLATILE.sub(lambda match: names.get(match[0], match[0]), value)
    if isinstance(value, dict):
        return {name: exchanged(inner, names) for name, inner in value.items()}
    if isinstance(value, list):
        return [exchanged(inner, names) for inner in value]
    return value


def translation(then: Sequence[str], now: Sequence[str]) -> dict[str, str]:
    """Return what volatile texts have become; those that have become several things are left out."""
    names: dict[str, str] = {}
    torn = set()
    for old, new in zip(then, now, strict=True):
        if names.setdefault(old, new) != new:
            torn.add(old)
    return {old: new for old, new in names.items() if old not in torn and old != new}


def digest_of(value: Any) -> str:
    """Return 16 hex digits over plain JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def difference(expected: Any, got: Any) -> str:
    """Return where two values of plain JSON differ first, and how; empty if they do not."""
    return next(_differences(expected, got, ""), "")


def _differences(expected: Any, got: Any, where: str) -> Iterator[str]:
    if expected == got:
        return
    if isinstance(expected, dict) and isinstance(got, dict):
        for name in sorted({*expected, *got}):
            path = f"{where}.{name}" if where else name
            if name not in expected:
                yield f"{path}: expected nothing, got {_short(got[name])}"
            elif name not in got:
                yield f"{path}: expected {_short(expected[name])}, got nothing"
            else:
                yield from _differences(expected[name], got[name], path)
    elif isinstance(expected, list) and isinstance(got, list):
        for place, (one, other) in enumerate(zip(expected, got, strict=False)):
            yield from _differences(one, other, f"{where}[{place}]")
        yield f"{where}: expected {len(expected)} of them, got {len(got)}"
    elif isinstance(expected, str) and isinstance(got, str):
        pairs = zip(expected, got, strict=False)
        place = next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(expected), len(got)))
        texts = (_around(text, place) for text in (expected, got))
        yield "{} at character {}: expected {}, got {}".format(where, place + 1, *texts)
    else:
        yield f"{where}: expected {_short(expected)}, got {_short(got)}"


def _around(text: str, place: int) -> str:
    start, end = max(0, place - _AROUND), place + _AROUND
    return repr("…" * (start > 0) + text[start:end] + "…" * (end < len(text)))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 2 * _AROUND else f"{text[: 2 * _AROUND]}…"
