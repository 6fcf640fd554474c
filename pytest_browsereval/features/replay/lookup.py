"""Finds the recorded request for a live one, where logins were taken out of the recording."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pytest_browsereval.redaction.logins import JWT, change_address, change_body, is_login
from pytest_browsereval.redaction.marks import TOKEN_MARK

if TYPE_CHECKING:
    from playwright.async_api import Route

_BOUNDARY = re.compile(r"boundary=\"?([^\";\s]+)")


class RequestLookup:
    """Finds the recorded request that one of a replay stands for, where a login was taken out of it.

    Args:
        entries: of the recording.
    """

    def __init__(self, entries: Iterable[dict[str, Any]]) -> None:
        self._known: set[tuple[str, str, str]] = set()
        self._shapes: dict[tuple[str, str, str], tuple[str, str]] = {}
        for entry in entries:
            request = entry["request"]
            url, sent = request["url"], request.get("postData") or {}
            body = sent.get("text", "")
            # All others are found by Playwright itself.
            if TOKEN_MARK.search(url + body):
                self._known.add((request["method"], url, body))
                shape = (request["method"], _shape(url), _shape(body, sent.get("mimeType", "")))
                self._shapes.setdefault(shape, (url, body))

    def __bool__(self) -> bool:
        return bool(self._shapes)

    async def pass_on(self, route: Route) -> None:
        """Have a request looked up as it was recorded: with marks for what logs somebody in."""
        request = route.request
        url, body = request.url, (request.post_data_buffer or b"").decode(errors="replace")
        shape = None
        if (request.method, url, body) not in self._known:  # else a page has sent on what a reply has
            kind = request.headers.get("content-type", "")
            shape = self._shapes.get((request.method, _shape(url), _shape(body, kind)))
        if shape is None:
            await route.fallback()
        elif shape[1]:
            await route.fallback(url=shape[0], post_data=shape[1])
        else:
            await route.fallback(url=shape[0])


def find_boundary(kind: str) -> str:
    """Return what stands between the parts of a body, which browsers make up; empty if it has no parts.

    Args:
        kind: the media type.
    """
    match = _BOUNDARY.search(kind)
    return match[1] if match else ""


def _shape(text: str, kind: str | None = None) -> str:
    """Return an address or a body with one mark for all that would be hidden in a recording."""

    def change(name: str, value: str) -> str:
        return "-removed-" if is_login(name, value) else value

    if kind and (boundary := find_boundary(kind)):
        text = text.replace(boundary, "")
    plain = JWT.sub("-removed-", TOKEN_MARK.sub("-removed-", text))
    return change_address(plain, change) if kind is None else change_body(plain, kind, change)
