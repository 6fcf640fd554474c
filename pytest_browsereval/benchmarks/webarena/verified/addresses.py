"""Addresses as WebArena-Verified compares them: path and query apart, spelling made alike."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import eq
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from pytest_browsereval.benchmarks.webarena.verified.texts import is_pattern, matches

Query = Mapping[str, tuple[Any, ...]]

_SAFE_PATH = "~:/#[]@!$&'()*+,;="
_SAFE_QUERY = "~:/?[]@!$'()*+,;"
_SAFE_FRAGMENT = "~="
_BASE64 = re.compile(r"[A-Za-z0-9_-]{4,}={0,2}")
_PORTS = {"http": ":80", "https": ":443"}


@dataclass(frozen=True)
class Address:
    """An address, its query apart."""

    base: str
    query: Query = field(default_factory=dict)
    is_pattern: bool = False

    def same_path(self, actual: Address) -> bool:
        """Compare all but the query; blocks for a pattern.

        Raises:
            Fault: the pattern takes too long.
        """
        if self.is_pattern:
            return matches(self.base, actual.base, whole=False)
        return self.base.lower().rstrip("/") == actual.base.lower().rstrip("/")

    def same_query(self, actual: Address, same: Callable[[Any, Any], bool] = eq) -> bool:
        """Compare the first value of every parameter; one that is missing is an empty one.

        Args:
            actual: the address that was seen.
            same: compares two values that are not plain texts.

        Raises:
            Fault: a pattern takes too long.
        """
        for name in self.query.keys() | actual.query.keys():
            wanted, seen = _first(self.query, name), _first(actual.query, name)
            if is_pattern(wanted):
                if not matches(wanted, str(seen), whole=False):
                    return False
            elif wanted != seen and not same(wanted, seen):
                return False
        return True


def _first(query: Query, name: str) -> Any:
    values = query.get(name) or ("",)
    return "" if values[0] is None else values[0]


def read_address(
    text: Any, *, query: Mapping[str, Any] | None = None, decodes_base64: bool = False
) -> Address:
    """Return an address as it is compared.

    Args:
        text: the address, or a pattern of addresses.
        query: parameters in the place of its own.
        decodes_base64: whether parts of the path hold further parameters in base64.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(text, str) or not text.strip():
        raise ValueError("no address")
    text = text.strip()
    if is_pattern(text):
        return Address(text, _lower(query or {}), is_pattern=True)
    text = text.rstrip("/")
    if text.lower().startswith(("ssh://", "git@")) and (found := _SSH.fullmatch(text.lower())):
        user, path = found[1] or "git", found[2] if found[3] is None else found[4]
        return Address(f"{user}@ssh:{path.lstrip('/')}")
    origin, path, own = _parts(text)
    if query is None:
        path, added = _decode(path) if decodes_base64 else (path, [])
        parsed = parse_qs("&".join([*added, own] if own else added), keep_blank_values=True)
        query = {unquote(name): [*map(unquote, values)] for name, values in parsed.items()}
    return Address(origin + path, _lower(query))


def _lower(query: Mapping[str, Any]) -> Query:
    return {
        name: tuple(sorted((v.lower().strip() if isinstance(v, str) else v for v in values), key=str))
        for name, values in query.items()
    }


_SSH = re.compile(r"ssh://(?:([^@/]+)@)?[^/]*/?(.*)|(git)@[^:]+:(.*)")


def _parts(text: str) -> tuple[str, str, str]:
    """Return origin, path with its fragment, and query."""
    # As the package normalises addresses before it compares them.
    text = text.replace("#!", "?_escaped_fragment_=").rstrip("&? ")
    if "://" not in text and not text.startswith("/"):
        text = f"https://{text}"
    split = urlsplit(text)
    origin = f"{split.scheme}://{split.netloc.lower()}" if split.netloc else ""
    path = _tidy(quote(unquote(split.path), _SAFE_PATH)) or "/"
    fragment = quote(unquote(split.fragment), _SAFE_FRAGMENT)
    params = [part.partition("=") for part in split.query.split("&") if part]
    names = ((quote(unquote(k), _SAFE_QUERY), quote(unquote(v), _SAFE_QUERY)) for k, _, v in params)
    query = "&".join(f"{name}={value}" if value else name for name, value in names)
    fragment = f"#{fragment}" if fragment else ""
    return origin.removesuffix(_PORTS.get(split.scheme, "")), path + fragment, query


def _tidy(path: str) -> str:
    """Return a path without empty, ``.`` and ``..`` parts."""
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    ends = "/" if parts and path.endswith(("/", "/.", "/..")) else ""
    return "/" + "/".join(parts) + ends if path else ""


def _decode(path: str) -> tuple[str, list[str]]:
    """Return a path without its parts in base64, and the parameters that those hold."""
    parts = [(part, _query_in(part)) for part in path.split("/") if part]
    kept = [part for part, query in parts if not query]
    end = "/" if kept and path.endswith("/") else ""
    return "/" + "/".join(kept) + end, [query for _, query in parts if query]


def _query_in(part: str) -> str:
    if not _BASE64.fullmatch(part):
        return ""
    try:
        text = base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)).decode()
    except ValueError:
        return ""
    return unquote(text).strip().lstrip("?&") if "=" in text else ""
