"""Addresses of pages as they can be compared between attempts and runs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

from pytest_browsereval.addresses import is_local

_RANDOM = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # a UUID
    r"|(?=[a-z]*[0-9])[0-9a-f]{8,}"
    r"|[0-9]{6,}"
    r"|(?=.*[0-9])(?=.*[a-z])[a-z0-9_]{20,}",
    re.IGNORECASE,
)
"""Parts of an address that a server has made up: a UUID, a hash, a long number."""


class PageNames:
    """Names pages without what differs from run to run.

    Args:
        sites: the addresses of the eval's sites by their names.
        start: the address of the start page: its host may be another one in each run.
    """

    def __init__(self, sites: Mapping[str, str], start: str | None) -> None:
        longest_first = sorted(sites.items(), key=lambda one: -len(one[1]))
        self._sites = [(url.rstrip("/"), f"{{{name}}}") for name, url in longest_first]
        try:
            self._host = urlsplit(start or "").hostname
        except ValueError:
            self._host = None
        self._start = start if start and self._host else ""

    def name(self, url: str) -> str:
        """Return the page of an address: without host and port where these are the eval's own."""
        if self._start and url.startswith("/"):  # what a call opens may be relative
            url = urljoin(self._start, url)
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
        path = _name_path(f"/{url.partition('://')[2].partition('/')[2]}")
        return path if is_own else parts.hostname.removeprefix("www.") + path


@lru_cache(maxsize=4096)
def _name_path(rest: str) -> str:
    try:
        parts = urlsplit(rest)
        query = sorted(parse_qsl(parts.query, keep_blank_values=True))
    except ValueError:
        return rest
    path = "/".join("*" if _RANDOM.fullmatch(part) else part for part in parts.path.split("/")) or "/"
    known = [(key, "*" if _RANDOM.fullmatch(value) else value) for key, value in query]
    values = f"?{urlencode(known, safe='*/ ')}" if known else ""
    # Other fragments are places on a page.
    return path + values + (f"#{parts.fragment}" if parts.fragment.startswith(("/", "!")) else "")
