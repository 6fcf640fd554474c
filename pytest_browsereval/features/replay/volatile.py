"""Ignores what differs in each model call and means nothing: ports, times, ids, pictures."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pytest_browsereval.redaction.text import map_texts

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


def replace_pictures(value: Any) -> Any:
    """Return plain JSON with ``<picture>`` for every picture in it."""
    return map_texts(
        value, lambda text: PICTURE if _BARE_PICTURE.match(text) else _PICTURE.sub(PICTURE, text)
    )


def mark_volatile(value: Any) -> tuple[Any, list[str]]:
    """Return plain JSON with marks for what is volatile, and what that was, in order.

    Ports of this machine, dates and times, UUIDs and hexadecimal numbers of 16 digits or more are volatile.
    """
    found: list[str] = []

    def mark(match: re.Match[str]) -> str:
        found.append(match[0])
        return f"<{match.lastgroup}>"

    # The order of fields means nothing: that of a provider or an agent may change.
    ordered = json.loads(json.dumps(value, sort_keys=True))
    return map_texts(ordered, lambda text: _VOLATILE.sub(mark, text)), found


def find_volatile(text: str) -> list[tuple[int, int]]:
    """Return where in a text something volatile stands: from which character, and before which."""
    return [match.span() for match in _VOLATILE.finditer(text)]


def replace_volatile(value: Any, then: Sequence[str], now: Sequence[str]) -> Any:
    """Return plain JSON with the present volatile texts in the place of recorded ones.

    A text that has become several things stays as it was.

    Args:
        value: a recorded reply, which repeats what was volatile in its request.
        then: what was volatile in the recorded request, in order.
        now: what stands there in the present request.
    """
    became: dict[str, set[str]] = {}
    for old, new in zip(then, now, strict=True):
        # What was one text then may be two now: which one a reply means, nobody knows.
        became.setdefault(old, set()).add(new)
    present = {old: new for old, (new, *others) in became.items() if not others}
    return map_texts(value, lambda text: _VOLATILE.sub(lambda match: present.get(match[0], match[0]), text))


def compute_digest(value: Any, before: str = "") -> str:
    """Return 16 hex digits over plain JSON, and over what stands before it."""
    # Sorted: the same request may be put together in another order.
    text = before + json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def describe_difference(expected: Any, got: Any) -> str:
    """Return where two values of plain JSON differ first, and how; empty if they do not."""
    one, other = dict(_list_leaves(expected)), dict(_list_leaves(got))
    for where in one | other:
        texts = [one.get(where, "nothing"), other.get(where, "nothing")]
        if texts[0] != texts[1]:
            start = max(0, len(os.path.commonprefix(texts)) - _AROUND)  # noqa: RUF071 of any texts
            return "{}: expected {}, got {}".format(where, *(_cut(text, start) for text in texts))
    return ""


def _list_leaves(value: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Yield the places in plain JSON with what stands there, as JSON."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _list_leaves(inner, f"{where}.{name}" if where else name)
    elif isinstance(value, list) and value:
        for place, inner in enumerate(value):
            yield from _list_leaves(inner, f"{where}[{place}]")
    elif where:
        yield where, json.dumps(value, ensure_ascii=False)


def _cut(text: str, start: int) -> str:
    end = start + 2 * _AROUND
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
