"""Secrets taken out of what is about to be written as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
