"""Secrets taken out of what is about to be written as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from html import escape
from typing import Any
from urllib.parse import quote, quote_plus

from pydantic_core import PydanticSerializationError, to_json

from pytest_browsereval.model.display import well_formed

LONG_LINE = 16
"""Characters from which on a line of a secret is one by itself."""

_STAYS = {
    "component": "!'()*",  # encodeURIComponent
    "uri": "!'()*;,/?:@&=+$#",  # encodeURI
    "query": "!$%&()*+,/:;=?@[\\]^`{|}",  # typed behind a question mark
    "path": "!$%&()*+,/:;=@[]'",  # typed in a path
    "hash": "!$%&()*+,/:;=?@[\\]^{|}'",  # typed behind a hash
}


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


def spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return secrets as they are, quoted by JSON and Python, in a URL and in HTML; the longest first.

    A grader quotes an answer in its reasoning; a form sends what was typed in the address; the page's markup
    is recorded.
    """
    found = set()
    for secret in _with_lines(filter(None, secrets)):
        found |= {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
        found |= {repr(secret)[1:-1], quote(secret), quote(secret, safe=""), quote_plus(secret)}
        found |= {escape(secret), *browser_spellings(secret).values()}
    return tuple(sorted(found, key=lambda text: (-len(text), text)))


def _with_lines(secrets: Iterable[str]) -> Iterator[str]:
    """Yield secrets, and the longer lines of those of several: output is written line by line."""
    for secret in secrets:
        yield secret
        lines = [line.strip() for line in secret.splitlines()]
        yield from (line for line in lines if len(lines) > 1 and len(line) >= LONG_LINE)


def browser_spellings(secret: str) -> dict[str, str]:
    """Return a text as browsers write it into forms, addresses and markup, by the names of these ways."""
    ways = {"form": quote_plus(secret, safe="*").replace("~", "%7E")}
    ways |= {name: quote(secret, safe=stays) for name, stays in _STAYS.items()}
    # Markup: between tags, and in attributes of both ages.
    text = escape(secret, quote=False).replace("\xa0", "&nbsp;")
    ways |= {"text": text, "attribute": text.replace('"', "&quot;")}
    older = secret.replace("&", "&amp;").replace("\xa0", "&nbsp;").replace('"', "&quot;")
    return ways | {"older": older}
