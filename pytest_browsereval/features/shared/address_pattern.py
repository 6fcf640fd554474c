"""Addresses with ``*`` and ``**`` for a part, as of Playwright: ``*`` ends at a slash."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote

from pydantic import JsonValue
from pydantic_core import SchemaValidator, core_schema

from pytest_browsereval.graders.page_checks import name_machine, normalize_addresses
from pytest_browsereval.graders.values import show

LONGEST = 2_000
"""Characters of a pattern."""

_STARS = re.compile(r"(\*+)")
_ANY, _ANY_OF_PART = "(?s:.*)", "[^/]*"
_HOST = re.compile(r"(?:\{\w+\}|https?://[^/?#]|\*\*)", re.ASCII)


def check_address(text: JsonValue, key: str) -> str:
    """Return a pattern of addresses.

    Raises:
        ValueError: it names neither a site nor a host.
    """
    if not isinstance(text, str) or not _HOST.match(text):
        path = text if isinstance(text, str) and text.startswith("/") else "/cart*"
        raise ValueError(
            f"{key!r} is {show(text)}, which names no site and no host. Write one, such as "
            f'"{{shop}}{path}" or "https://shop.example{path}"; "**{path}" is any host.'
        )
    if len(text) > LONGEST:
        raise ValueError(f"{key!r} has {len(text):,} characters. Write {LONGEST:,} or fewer.")
    return text


@lru_cache(maxsize=8192)  # the same ones are compared at each moment
def matches_address(pattern: str, url: str) -> bool:
    """Return whether an address is one of a pattern; another spelling of it makes no difference."""
    is_one = _compile(pattern).isinstance_python
    plain = unquote(url)
    return any(map(is_one, (str(normalize_addresses(url)), name_machine(plain), url, plain)))


@lru_cache(maxsize=1024)
def _compile(pattern: str) -> SchemaValidator:
    # Rust's expressions take time in proportion to the text; Python's may try for ever.
    parts = _STARS.split(str(normalize_addresses(pattern)))
    found = (
        _ANY if part.startswith("**") else _ANY_OF_PART if part == "*" else re.escape(part) for part in parts
    )
    return SchemaValidator(
        core_schema.str_schema(pattern=rf"\A{''.join(found)}\z", regex_engine="rust-regex")
    )
