"""Addresses that a window may open: schemes and patterns of origins."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from pytest_browsereval.redaction.known import beginning, ending

ADDRESS_CHARS = 8_000
"""The longest address, or title, that is passed on as it is: a page may give itself one of 2 MB."""
PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_HTTP_OF = {"ws": "http", "wss": "https"}
_PATTERN = re.compile(
    r"(?:(?P<scheme>\*|[a-z]+)://)?(?P<host>\[[0-9a-f:]+\]|[^:/?#@\s\[\]{}]+)(?::(?P<port>\*|\d+))?/?"
)


@dataclass(frozen=True)
class OriginPattern:
    """One pattern: ``https://shop.example``, ``*.example.com``, ``http://127.0.0.1:*``."""

    scheme: str
    host: str
    port: str

    @classmethod
    def parse(cls, text: str) -> OriginPattern:
        """Read a pattern.

        Without a scheme both http and https match. Without a port a scheme's own port matches, or any
        port if there is no scheme either. ``*`` in the host stands for any characters.

        Raises:
            ValueError: it is more or less than an origin.
        """
        match = _PATTERN.fullmatch(text.strip().lower())
        if match is None or match["scheme"] not in (None, "*", "http", "https"):
            raise ValueError(
                f"{text!r} is not a pattern of origins. Write scheme, host and port without a path, such as "
                "'https://shop.example', '*.example.com' or 'http://127.0.0.1:*'. The origin that a row "
                "starts at is always allowed."
            )
        scheme = match["scheme"] or "*"
        port = match["port"] or ("*" if scheme == "*" else str(PORTS[scheme]))
        return cls(scheme, match["host"], port)

    def matches(self, url: str) -> bool:
        """Tell whether the URL's origin matches; websockets count as their http counterparts."""
        parts = urlsplit(url)
        scheme = _HTTP_OF.get(parts.scheme, parts.scheme)
        if scheme not in ("http", "https") or self.scheme not in ("*", scheme):
            return False
        try:
            port = parts.port or PORTS[scheme]
        except ValueError:
            return False
        host = parts.hostname or ""
        # An IPv6 address is compared in its brackets, as patterns are written.
        wanted = re.escape(self.host).replace(r"\*", ".*")
        is_host = re.fullmatch(wanted, f"[{host}]" if ":" in host else host) is not None
        return is_host and self.port in ("*", str(port))


@dataclass(frozen=True)
class AllowedOrigins:
    """What a window may load. No patterns: everything."""

    patterns: tuple[OriginPattern, ...] = ()

    @classmethod
    def parse(cls, patterns: Iterable[str]) -> AllowedOrigins:
        """Read the patterns of a config.

        Raises:
            ValueError: one of them is not a pattern.
        """
        return cls(tuple(OriginPattern.parse(text) for text in patterns))

    def __bool__(self) -> bool:
        return bool(self.patterns)

    def also(self, url: str | None) -> AllowedOrigins:
        """Return these and the origin of a URL: a start page is always allowed."""
        parts = urlsplit(url or "")
        if not self.patterns or parts.scheme not in ("http", "https"):
            return self
        return AllowedOrigins((*self.patterns, OriginPattern.parse(origin_of(url or ""))))

    def allow(self, url: str) -> bool:
        """Tell whether a request to the URL may be made; what is not on the network always may."""
        if not self.patterns or urlsplit(url).scheme not in PORTS:
            return True
        return any(pattern.matches(url) for pattern in self.patterns)


EVERYTHING = AllowedOrigins()


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL, without user, path or query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def cap_text(text: str) -> str:
    """Return an address or a title as it is, or the beginning of one that is far longer than any is for."""
    if len(text) <= ADDRESS_CHARS:
        return text
    return f"{beginning(text, ADDRESS_CHARS)}… ({len(text)} characters)"


def shorten(text: str, limit: int = 120) -> str:
    """Return the text on one line, cut in the middle to at most ``limit`` characters.

    Characters that are not to be seen, such as those that steer a terminal, become question marks.
    """
    flat = " ".join(text.split())
    flat = flat if flat.isprintable() else "".join(c if c.isprintable() else "?" for c in flat)
    if len(flat) <= limit:
        return flat
    head = (limit - 1) * 2 // 3
    return f"{beginning(flat, head)}…{ending(flat, limit - 1 - head)}"
