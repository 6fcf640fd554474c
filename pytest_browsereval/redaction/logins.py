"""Redacts logins in headers, and tells them from other named values."""

from __future__ import annotations

import re
from typing import Any

from pytest_browsereval.redaction.marks import REMOVED
from pytest_browsereval.redaction.names import is_password_name, is_secret_name

SHORTEST_TOKEN = 12
"""Characters: what is shorter is a kind of token, say, and stands in many places."""

JWT = re.compile(r"(?<![\w-])eyJ[\w-]*\.[\w-]+(?:\.[\w-]*)+")
"""A signed token: known by its form, no matter what it is called."""

_COOKIE_HEADERS = ("cookie", "set-cookie", "set-cookie2")


def is_login(name: str, value: str) -> bool:
    """Return whether a named value is hidden: passwords of any length, tokens that are no kinds of token."""
    return is_password_name(name) or (len(value) >= SHORTEST_TOKEN and is_secret_name(name, "field"))


def remove_logins(side: dict[str, Any], kept: frozenset[str] = frozenset()) -> None:
    """Take cookies and headers that log someone in out of a request or a response, in place.

    Args:
        side: as a HAR file has it.
        kept: cookies that stay, by their names.
    """
    side["cookies"] = [cookie for cookie in side.get("cookies", ()) if cookie.get("name") in kept]
    for header in side.get("headers", ()):
        name = header["name"].lower()
        if name in _COOKIE_HEADERS:
            header["value"] = _keep_cookies(header["value"], kept, is_list=name == "cookie")
        elif is_secret_name(name, "field"):
            header["value"] = REMOVED


def _keep_cookies(text: str, kept: frozenset[str], *, is_list: bool) -> str:
    """Return a header's cookies, those that nobody looks at taken out."""
    parts = re.split(r";\s*", text) if is_list else text.split("\n")
    safe = [part if part.partition("=")[0].strip() in kept else REMOVED for part in parts]
    return ("; " if is_list else "\n").join(dict.fromkeys(safe))
