"""What of a config must not be written anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from pytest_browsereval.redaction.names import is_secret_name
from pytest_browsereval.validation_errors import HIDDEN

_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*\Z")
"""The name of an environment variable is no secret; one word in capitals may be a key of Amazon's, say."""

_USER_INFO = re.compile(r"(?<=://)[^/?#\s@]+@")
"""A user name and password in a URL."""

_PARAMETER = re.compile(r"(?<=[?&])([\w.-]+)=[^&#\s'\"]+")
"""A parameter in a URL."""


def without_logins(text: str) -> str:
    """Return a text without what lets anybody in of the addresses in it: users, passwords, keys."""
    text = _USER_INFO.sub(f"{HIDDEN}@", text)
    return _PARAMETER.sub(
        lambda found: f"{found[1]}={HIDDEN}" if is_secret_name(found[1], "field") else found[0], text
    )


def redacted(value: Any, secrets: Sequence[str] = (), key: str = "", inside: str = "") -> Any:
    """Return plain JSON with secrets replaced by ``***``.

    Args:
        value: plain JSON.
        secrets: texts that must not be shown wherever they stand.
        key: the key that the value stands under; one such as ``api_key`` hides it.
        inside: the key of the block that it stands in; what stands in an ``env`` are variables.
    """
    if isinstance(value, dict):
        return {name: redacted(inner, secrets, name, key) for name, inner in value.items()}
    if isinstance(value, list):
        return [redacted(inner, secrets, key, inside) for inner in value]
    if not isinstance(value, str) or not value:
        return value
    is_variable = inside == "env"
    if is_secret_name(key, "variable" if is_variable else "key") and (
        is_variable or not _VARIABLE.match(value)
    ):
        return HIDDEN
    for secret in secrets:
        value = value.replace(secret, HIDDEN)
    return _USER_INFO.sub(f"{HIDDEN}@", value)
