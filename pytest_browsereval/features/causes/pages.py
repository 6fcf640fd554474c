"""Addresses of pages as they can be compared between attempts and runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode, urlsplit

from pytest_browsereval.addresses import is_local

RANDOM = "*"
"""Stands for a part that differs from run to run."""

_RANDOM_PART = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # a UUID
    r"|(?=[a-z]*[0-9])[0-9a-f]{8,}"
    r"|[0-9]{6,}"
    r"|(?=.*[0-9])(?=.*[a-z])[a-z0-9_]{20,}",
    re.IGNORECASE,
)


def is_random(part: str) -> bool:
    """Whether a part of an address looks made up by a server: a UUID, a hash, a long number."""
    return _RANDOM_PART.fullmatch(part) is not None


class PageNames:
    """Names pages without what differs from run to run.

    Args:
        sites: the addresses of the eval's sites by their names.
        start: the address of the start page: its host may be another one in each run.
    """

    def __init__(self, sites: Mapping[str, str], start: str | None) -> None:
        self._sites = sorted(
            ((url.rstrip("/"), f"{{{name}}}") for name, url in sites.items()), key=lambda one: -len(one[0])
        )
        self._host = _host_of(start or "")

    def name(self, url: str) -> str:
        """Return the page of an address: without host and port where these are the eval's own."""
        for base, name in self._sites:
            for prefix in (base, name):
                rest = url.removeprefix(prefix)
                if rest != url and rest[:1] in ("", "/", "?", "#"):
                    return name + _name_path(rest)
        try:
            parts = urlsplit(url)
            is_own = parts.hostname == self._host or is_local(url)
        except ValueError:
            return url
        if parts.scheme not in ("http", "https") or not parts.hostname:
            return url
        path = _name_path(url.partition("://")[2].partition("/")[2].join(("/", "")))
        return path if is_own else parts.hostname.removeprefix("www.") + path


def _host_of(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def _name_path(rest: str) -> str:
    try:
        parts = urlsplit(rest)
        query = sorted(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        return rest
    path = "/".join(RANDOM if is_random(part) else part for part in parts.path.split("/")) or "/"
    values = urlencode([(key, RANDOM if is_random(value) else value) for key, value in query], safe="*/ ")
    # Other fragments are places on a page.
    fragment = f"#{parts.fragment}" if parts.fragment.startswith(("/", "!")) else ""
    return path + (f"?{values}" if values else "") + fragment
