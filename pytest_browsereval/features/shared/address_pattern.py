"""Addresses with ``*`` and ``**`` for a part, as of Playwright: ``*`` ends at a slash."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import unquote

from pydantic import JsonValue

from pytest_browsereval.graders.page_checks import normalize_addresses
from pytest_browsereval.graders.values import show

_STARS = re.compile(r"(\*+)")
_HOST = re.compile(r"(?:\{\w+\}|https?://[^/?#]|\*\*)", re.ASCII)


def check_address(text: JsonValue, key: str) -> str:
    """Return a pattern of addresses.

    Raises:
        ValueError: it names neither a site nor a host.
    """
    if not isinstance(text, str) or not _HOST.match(text):
        path = text if isinstance(text, str) and text.startswith("/") else "/cart*"
        raise ValueError(
            f"{key!r} is {show(text)}, which has no site and no host. Write one, such as "
            f'"{{shop}}{path}" or "https://shop.example{path}"; "**{path}" is any host.'
        )
    return text


@lru_cache(maxsize=8192)  # the same ones are compared at each moment
def matches_address(pattern: str, url: str) -> bool:
    """Return whether an address is one of a pattern; another spelling of it makes no difference."""
    parts = _STARS.split(str(normalize_addresses(pattern)))
    return any(_matches(parts, text) for text in dict.fromkeys((str(normalize_addresses(url)), unquote(url))))


def _matches(parts: list[str], text: str) -> bool:
    # Ends of all beginnings that match: what a regular expression would try one after another, for ever.
    ends, star = [0], ""
    for place, part in enumerate(parts):
        if place % 2:
            star = part
        else:
            at = _find_all(part, text) if star else (end for end in ends if text.startswith(part, end))
            ends = [one + len(part) for one in at if not star or _reaches(ends, one, star, text)]
            if not ends:
                return False
    return ends[-1] == len(text)


def _find_all(part: str, text: str) -> Iterable[int]:
    return _walk(part, text) if part else range(len(text) + 1)


def _walk(part: str, text: str) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + 1)


def _reaches(ends: list[int], at: int, star: str, text: str) -> bool:
    """Return whether a star leads from one of the ends to a place."""
    first = 0 if len(star) > 1 else text.rfind("/", 0, at) + 1
    place = bisect_left(ends, first)
    return place < len(ends) and ends[place] <= at
