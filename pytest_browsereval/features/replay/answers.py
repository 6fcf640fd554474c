"""Recorded replies that stand in for servers."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.features.replay.page_file import match_recorded
from pytest_browsereval.features.replay.tokens import change_address, change_body
from pytest_browsereval.redaction.logins import JWT, is_login
from pytest_browsereval.redaction.marks import TOKEN_MARK

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Request, Route

_DISPENSABLE = frozenset({"image", "media", "font", "texttrack", "manifest", "ping", "cspreport", "other"})
"""Kinds of requests without whose reply a page works: a number that is made up may tell them apart."""

_GIVEN_UP = "net::ERR_ABORTED"
"""How a request fails that the page itself gave up, or left behind; one without an answer fails otherwise."""


_BOUNDARY = re.compile(r"boundary=\"?([^\";\s]+)")


_Sent = tuple[bytes | None, bool]
"""The body of a recorded request, and whether the server did not answer then either, or not to the end."""


@dataclass(frozen=True)
class HarAnswers:
    """Answers the requests of a window from a HAR file; what was not recorded fails and is noted."""

    har: Path
    """The recording; it is read while the window is open."""
    live: tuple[str, ...] = ()
    """Origins that are asked all the same: those of the config's sites."""
    missed: list[str] = field(default_factory=list)
    """``GET https://...``: what pages asked for that was not recorded, in that order."""
    missed_parts: list[str] = field(default_factory=list)
    """The same of pictures, fonts, what pages only tell their servers, and what they gave up themselves: a
    page may do without."""

    async def __call__(self, context: BrowserContext) -> None:
        """Answer the requests of a window from now on.

        Raises:
            OSError: the recording cannot be read.
            ValueError: it is not a HAR file.
        """
        # Recordings have megabytes, and other lanes share the loop.
        content = await asyncio.to_thread(lambda: json.loads(self.har.read_bytes()))
        entries = content["log"]["entries"]
        known, recorded = _index_requests(entries), match_recorded(self.live)

        def note(request: Request) -> None:
            if recorded.match(request.url):
                self._note(request, known.get((request.method, request.url), []))

        # Before the route: nothing that fails may go by unseen.
        context.on("requestfailed", note)
        await context.route_from_har(self.har, url=recorded, not_found="abort")
        if lookup := RequestLookup(entries):  # asked first, since it is added last
            await context.route(recorded, lookup.pass_on)

    def _note(self, request: Request, of_address: Sequence[_Sent]) -> None:
        """Note a request that failed, unless it failed in the recording too."""
        body = request.post_data_buffer if request.method == "POST" else None
        body = _drop_boundary(body, request.headers)
        # One of the same method and address is told apart by its body, as Playwright does it.
        alike = [has_failed for then, has_failed in of_address if None in (body, then) or body == then]
        was_given_up = request.failure == _GIVEN_UP
        if alike and (was_given_up or any(alike)):
            return  # as it was recorded, or by the page's own doing
        is_dispensable = was_given_up or request.resource_type in _DISPENSABLE
        missed = self.missed_parts if is_dispensable else self.missed
        another = " with another body" if of_address and not alike else ""
        missed.append(f"{request.method} {request.url}{another}")


def _index_requests(entries: Iterable[dict[str, Any]]) -> dict[tuple[str, str], list[_Sent]]:
    """Return the recorded requests by method and address."""
    known: dict[tuple[str, str], list[_Sent]] = {}
    for entry in entries:
        request, response = entry["request"], entry["response"]
        headers = {header["name"].lower(): header["value"] for header in request.get("headers", ())}
        has_failed = response.get("status", 0) <= 0 or bool(response.get("_failureText"))
        sent, body = request.get("postData"), None
        if sent is not None:
            text = sent.get("text", "")
            body = base64.b64decode(text) if sent.get("encoding") == "base64" else text.encode()
        sent_then = _drop_boundary(body, headers), has_failed
        known.setdefault((request["method"], request["url"]), []).append(sent_then)
    return known


def _drop_boundary(body: bytes | None, headers: Mapping[str, str]) -> bytes | None:
    """Return a body without what stands between its parts: that is another text each time."""
    boundary = _find_boundary(headers.get("content-type", "")).encode()
    return body.replace(boundary, b"") if body and boundary else body


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
        """Have a request looked up as it was recorded: with marks for what logs someone in."""
        request = route.request
        url, body = request.url, (request.post_data_buffer or b"").decode(errors="replace")
        kind = request.headers.get("content-type", "")
        shape = self._shapes.get((request.method, _shape(url), _shape(body, kind)))
        if shape is None or (request.method, url, body) in self._known:  # a page sent on what a reply has
            await route.fallback()
        else:
            await route.fallback(url=shape[0], post_data=shape[1] or None)


def _find_boundary(kind: str) -> str:
    """Return what stands between the parts of a body of a media type, which browsers make up; or nothing."""
    match = _BOUNDARY.search(kind)
    return match[1] if match else ""


def _shape(text: str, kind: str | None = None) -> str:
    """Return an address or a body with one mark for all that would be hidden in a recording."""

    def change(name: str, value: str) -> str:
        return "-removed-" if is_login(name, value) else value

    if kind and (boundary := _find_boundary(kind)):
        text = text.replace(boundary, "")
    plain = JWT.sub("-removed-", TOKEN_MARK.sub("-removed-", text))
    return change_address(plain, change) if kind is None else change_body(plain, kind, change)
