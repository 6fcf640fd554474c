"""What of a config must not be written anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pytest_browsereval.problems import HIDDEN, is_secret_key

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*\Z")
"""The name of an environment variable is no secret."""

_USER_INFO = re.compile(r"(?<=://)[^/?#\s@]+@")
"""A user name and password in a URL."""


def redacted(value: Any, secrets: Sequence[str] = (), key: str = "") -> Any:
    """Return plain JSON with secrets replaced by ``***``.

    Args:
        value: plain JSON.
        secrets: texts that must not be shown wherever they stand.
        key: the key that the value stands under; one such as ``api_key`` hides it.
    """
    if isinstance(value, dict):
        return {name: redacted(inner, secrets, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [redacted(inner, secrets, key) for inner in value]
    if not isinstance(value, str) or not value:
        return value
    if is_secret_key(key) and not _VARIABLE.match(value):
        return HIDDEN
    for secret in secrets:
        value = value.replace(secret, HIDDEN)
    return _USER_INFO.sub(f"{HIDDEN}@", value)
