"""URLs without what may be a key."""

from __future__ import annotations

import re

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}://\S+")
_KEYS = re.compile(r"(?<=://)[^/?#]*@|[?#].*", re.DOTALL)
"""A login, and all that comes after the path: signatures of links that anyone may use are there."""


def plain_url(url: str) -> str:
    """Return a URL for messages: without its login, query and fragment, also where it is no valid one."""
    return _KEYS.sub(lambda match: "...@" if match[0].endswith("@") else f"{match[0][0]}...", url)


def plain_urls(text: str) -> str:
    """Return a text whose URLs are as ``plain_url`` has them."""
    return _URL.sub(lambda match: plain_url(match[0]), text)
