"""Redacts secrets in values of a config."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pytest_browsereval.redaction.marks import HIDDEN, MARK
from pytest_browsereval.redaction.names import is_secret_name
from pytest_browsereval.redaction.redactor import Redactor

_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]*\Z")
"""The name of an environment variable is not a secret; one word in capitals may be a key of Amazon's, say."""

_USER_INFO = re.compile(r"(?<=://)[^/?#\s@]+@")
"""A user name and password in a URL."""

_PASSWORD = re.compile(r"""(?<=://)[^/?#\s@:"']*:[^/?#\s@"']+@""")
"""The same where there is a password."""

_PARAMETER = re.compile(r"(?<=[?&])([\w.-]+)=[^&#\s'\"]+")
"""A parameter in a URL."""


_BLOCKS = frozenset({"env", "headers"})
"""Blocks of secrets and others, by their names."""

_NAMED = re.compile(r"\s*([\w.-]+)\s*[=:]\s*(?=\S)")
"""The name and what follows it where a text holds both."""

_GIVEN = re.compile(r"[\w.-]+(?=[\"']?\s*[=:])")
"""Names that a value follows."""


def is_secret_path(path: Sequence[str | int]) -> bool:
    """Return whether what stands at this place of a config must not be shown.

    What is not a block of names, or stands in one without a name, is another tool's spelling of such a block:
    ``env: [API_TOKEN=...]``.

    Args:
        path: keys and indexes; what stands directly in an ``env`` are variables.
    """
    if path and path[-1] in _BLOCKS:
        return True
    for before, part in zip(("", *path), path, strict=False):
        if isinstance(part, int):
            if before in _BLOCKS:
                return True
        elif before == "headers" or is_secret_name(part, "variable" if before == "env" else "key"):
            return True
    return False


def names_secrets(text: str) -> bool:
    """Return whether a text, of any format, gives values to names of secrets, or is a block of them."""
    return any(name in _BLOCKS or is_secret_name(name, "variable") for name in _GIVEN.findall(text))


def hide_secrets(value: Any, depth: int = 10) -> Any:
    """Return a value of a config, of any shape, without what is secret by its name, for a message.

    Args:
        value: plain JSON; ``NAME=VALUE`` and ``NAME: VALUE`` are seen in its texts.
        depth: levels that are shown: a value may be nested without end.
    """
    if isinstance(value, dict | list | tuple) and depth == 0:
        return HIDDEN
    if isinstance(value, dict):
        shown = {name: hide_secrets(inner, depth - 1) for name, inner in value.items()}
        return {name: HIDDEN if is_secret_path((str(name),)) else inner for name, inner in shown.items()}
    if isinstance(value, list | tuple):
        return [hide_secrets(inner, depth - 1) for inner in value]
    if isinstance(value, str) and (named := _NAMED.match(value)) and is_secret_name(named[1], "variable"):
        return f"{named[0]}{HIDDEN}"
    return value


def hide_passwords(text: str) -> str:
    """Return a text without users and passwords of addresses: a page or an agent may have made one up."""
    return _PASSWORD.sub(f"{MARK}@", text) if "@" in text and "://" in text else text


def hide_logins(text: str) -> str:
    """Return a text without what lets anybody in of the addresses in it: users, passwords, keys."""
    text = _USER_INFO.sub(f"{HIDDEN}@", text)
    return _PARAMETER.sub(
        lambda found: f"{found[1]}={HIDDEN}" if is_secret_name(found[1], "field") else found[0], text
    )


def redact_config(value: Any, secrets: Iterable[str] = ()) -> Any:
    """Return a config, as plain JSON, as it is shown and recorded.

    Args:
        value: with the names of its keys.
        secrets: texts that must not be shown wherever they stand.
    """
    return _redact_value(value, Redactor(secrets, HIDDEN).redact)


def _redact_value(value: Any, redact: Callable[[str], str], key: str = "", inside: str = "") -> Any:
    """Return the same of what stands under a key in the block ``inside``: an ``env`` has variables."""
    if isinstance(value, dict):
        return {name: _redact_value(inner, redact, name, key) for name, inner in value.items()}
    if isinstance(value, list):
        return [_redact_value(inner, redact, key, inside) for inner in value]
    if not isinstance(value, str) or not value:
        return value
    is_variable = inside == "env"
    if is_secret_name(key, "variable" if is_variable else "key") and (
        is_variable or not _VARIABLE.match(value)
    ):
        return HIDDEN
    return hide_logins(redact(value))
