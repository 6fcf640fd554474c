"""What the pages of a window show and ask for, heard from the browser and never from the pages.

Playwright tells of all tabs, frames and workers, service workers too. It does not tell of what a page sends
while it is left (``sendBeacon`` or ``keepalive`` in ``pagehide``), nor of messages of WebSockets.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.origins import cap_text
from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.model.messages import Message
from pytest_browsereval.redaction.text import well_formed

if TYPE_CHECKING:
    from playwright.async_api import Frame, Page, Request, Response


MOST_ENTRIES = 5_000
"""Requests of an attempt that are kept, and addresses that were shown."""
MOST_BYTES = 65_536
"""Of a body that are kept."""
MOST_KEPT = 4_000_000
"""Characters of all bodies and addresses of an attempt that are kept."""

_HEADERS_S = 0.5
"""How long headers are waited for that the browser has not told yet."""
_WITHOUT_BODY = ("GET", "HEAD", "OPTIONS")

RECORDINGS: WeakKeyDictionary[Window, WayRecording] = WeakKeyDictionary()
"""Of the windows that are open."""


async def begin_recording(window: Window) -> None:
    """Record a window from now on, if it has pages."""
    if isinstance(window, PlaywrightWindow):
        RECORDINGS[window] = WayRecording(window)


class WayRecording:
    """What happened in a window, as plain JSON with secrets: those are taken out where it is stored."""

    def __init__(self, window: PlaywrightWindow) -> None:
        self.visits: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.dropped = 0
        """What was not kept, for there was too much."""
        self.capture: CaptureContext | None = None
        """Of the attempt, once its window is at the start page."""
        self._room = MOST_KEPT
        self._by_request: dict[Request, dict[str, Any]] = {}
        self._unread: list[tuple[Request, dict[str, Any]]] = []
        context, ours = window.context, window.tab_of
        # In a context that was there before, its user's pages are nobody's business.
        self._not_ours = {page for page in context.pages if ours(page) is None}
        context.on("request", self._on_request)
        context.on("response", self._on_response)
        context.on("page", self._on_page)
        for page in context.pages:
            self._on_page(page)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The log so far, with the result that is under way."""
        if self.capture is None:
            return ()
        log = self.capture.messages
        return log.messages if log.pending is None else (*log.messages, log.pending)

    # Playwright ends its connection when a listener raises: these stay simple.

    def _on_page(self, page: Page) -> None:
        if page not in self._not_ours:
            page.on("framenavigated", self._on_navigated)
            self._visit(page.url)

    def _on_navigated(self, frame: Frame) -> None:
        if frame.parent_frame is None:
            self._visit(frame.url)

    def _visit(self, url: str) -> None:
        if url.startswith(("http:", "https:", "file:")):
            self._keep(self.visits, {"url": cap_text(url)}, len(url))

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith(("http:", "https:")) or self._is_of_another(request):
            return
        kind, body = request.headers.get("content-type", ""), request.post_data_buffer
        entry: dict[str, Any] = {"method": request.method, "url": cap_text(request.url.partition("#")[0])}
        if body is not None or request.method not in _WITHOUT_BODY:
            entry |= {"kind": cap_text(kind), "body": _decode(body or b"")}
            entry["cut"] = body is None or len(body) > MOST_BYTES
        if self._keep(self.requests, entry, len(entry["url"]) + len(entry.get("body", ""))):
            self._by_request[request] = entry
            if body is None and "cut" in entry:
                self._unread.append((request, entry))

    async def settle(self) -> None:
        """Find out which requests had no body: Chromium does not tell what files, or blobs, have in them."""
        unread, self._unread = self._unread, []
        found = await asyncio.gather(*(_has_body(request) for request, _ in unread))
        for (request, entry), has_body in zip(unread, found, strict=True):
            entry["cut"] = has_body is not False
            if has_body is None:
                self._unread.append((request, entry))

    def _is_of_another(self, request: Request) -> bool:
        if not self._not_ours:
            return False
        try:
            return request.frame.page in self._not_ours
        except playwright_error():  # of a service worker, or of a page that is about to open
            return False

    def _on_response(self, response: Response) -> None:
        entry = self._by_request.pop(response.request, None)
        if entry is not None:
            entry["status"] = response.status

    def _keep(self, entries: list[dict[str, Any]], entry: dict[str, Any], size: int) -> bool:
        is_kept = len(entries) < MOST_ENTRIES and size <= self._room
        if is_kept:
            self._room -= size
            step = 0 if self.capture is None else self.capture.findings.calls
            entry |= {"step": step, "at": round(time.time(), 3)}
            entries.append(entry)
        else:
            self.dropped += 1
        return is_kept


async def _has_body(request: Request) -> bool | None:
    """Return whether something was sent; None if that is not known yet."""
    try:
        async with asyncio.timeout(_HEADERS_S):
            return (await request.all_headers()).get("content-length") != "0"
    except (TimeoutError, playwright_error()):
        return None


def _decode(body: bytes) -> str:
    kept = body[:MOST_BYTES]
    try:
        return kept.decode()
    except UnicodeDecodeError:  # forms may be of an older character set
        return well_formed(kept.decode("latin-1"))
