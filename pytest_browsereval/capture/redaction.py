"""Secrets taken out of what is about to be written as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote, quote_plus


def redacted(value: Any, redact: Callable[[str], str]) -> Any:
    """Return a JSON value with every text in it redacted, names of fields too.

    Before it becomes JSON text: there a quote or a line break in a secret would be written in another
    way, and the secret not be found.
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(name): redacted(inner, redact) for name, inner in value.items()}
    if isinstance(value, list):
        return [redacted(inner, redact) for inner in value]
    return value


def spellings(secrets: Iterable[str]) -> tuple[str, ...]:
    """Return secrets as they are, quoted by JSON and Python, and as parts of a URL; the longest first.

    A grader quotes an answer in its reasoning; a form sends what was typed in the address.
    """
    found = set()
    for secret in filter(None, secrets):
        found |= {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
        found |= {repr(secret)[1:-1], quote(secret), quote(secret, safe=""), quote_plus(secret)}
    return tuple(sorted(found, key=lambda text: (-len(text), text)))
