"""What the pages of a window show and ask for, heard from the browser and never from the pages.

Playwright tells of all tabs, frames and workers, service workers too, but not of what shared workers and
worklets ask for: the browser tells that there are some. Nobody tells of what a page sends while it is left
(``sendBeacon`` or ``keepalive`` in ``pagehide``), nor of WebSockets of workers and of messages of WebSockets.
"""

from __future__ import annotations

import asyncio
import codecs
import re
import time
from collections import Counter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.origins import cap_text
from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.features.shared.requests import FORMS
from pytest_browsereval.features.shared.window_values import PerWindow
from pytest_browsereval.model.messages import Message
from pytest_browsereval.redaction.text import well_formed

if TYPE_CHECKING:
    from playwright.async_api import Browser, Download, Frame, Page, Request, Response


MOST_ENTRIES = 5_000
"""Requests of an attempt that are kept, and addresses that were shown."""
MOST_BYTES = 65_536
"""Of a body that are kept."""
MOST_KEPT = 4_000_000
"""Characters of all bodies and addresses of an attempt that are kept."""

_HEADERS_S = 0.5
"""How long headers are waited for that the browser has not told yet."""
_WITHOUT_BODY = ("GET", "HEAD", "OPTIONS")
_SENT = ("method", "url", "kind", "body", "cut")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f]")
"""What texts do not have in them, and UTF-16 and compressed data do."""
_UNSEEN = {"shared_worker": "a shared worker", "worklet": "a worklet"}
"""Targets of the browser whose requests Playwright does not tell of."""

RECORDINGS: PerWindow[WayRecording] = PerWindow()
"""Of the windows that are open."""
_UNSEEN_OF: WeakKeyDictionary[Browser, asyncio.Future[dict[str, str]]] = WeakKeyDictionary()
"""What ran unseen in a browser, by the ids of its contexts."""


async def begin_recording(window: Window) -> None:
    """Record a window from now on, if it has pages."""
    if isinstance(window, PlaywrightWindow):
        RECORDINGS[window] = WayRecording(window)
        if browser := window.context.browser:
            if browser not in _UNSEEN_OF:  # before anything is waited for: lanes share a browser
                _UNSEEN_OF[browser] = asyncio.ensure_future(_find_unseen(browser))
            await _UNSEEN_OF[browser]


async def _find_unseen(browser: Browser) -> dict[str, str]:
    """Return what the browser tells of from now on; nothing of one without Chromium's protocol."""
    found: dict[str, str] = {}

    def note(event: dict[str, Any]) -> None:
        target = event["targetInfo"]
        if target["type"] in _UNSEEN:
            found[target.get("browserContextId", "")] = _UNSEEN[target["type"]]

    try:
        session = await browser.new_browser_cdp_session()
        session.on("Target.targetCreated", note)
        kinds = [{"type": kind} for kind in _UNSEEN]
        await session.send("Target.setDiscoverTargets", {"discover": True, "filter": kinds})
    except playwright_error():
        return {}
    return found


class WayRecording:
    """What happened in a window, as plain JSON with secrets: those are taken out where it is stored."""

    def __init__(self, window: PlaywrightWindow) -> None:
        self.visits: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.unseen = ""
        """What ran whose requests are not seen."""
        self.dropped = 0
        """What was not kept, for there was too much."""
        self.capture: CaptureContext | None = None
        """Of the attempt, once its window is at the start page."""
        self._room = MOST_KEPT
        self._by_request: dict[Request, dict[str, Any]] = {}
        self._unread: list[tuple[Request, dict[str, Any]]] = []
        self._aborted: Counter[str] = Counter()
        self._window = window
        context, ours = window.context, window.tab_of
        # In a context that was there before, its user's pages are nobody's business.
        self._not_ours = {page for page in context.pages if ours(page) is None}
        context.on("request", self._on_request)
        context.on("response", self._on_response)
        context.on("requestfailed", self._on_failed)
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
            page.on("download", self._on_download)
            page.on("websocket", lambda one: self._keep_other(f"http{one.url.removeprefix('ws')}"))
            self._visit(page.url)

    def _on_navigated(self, frame: Frame) -> None:
        if frame.parent_frame is None:
            self._visit(frame.url)

    def _visit(self, url: str) -> None:
        if url.startswith(("http:", "https:", "file:")):
            self._keep(self.visits, {"url": cap_text(url)}, len(url))

    def _on_request(self, request: Request) -> None:
        page = _find_page(request)
        if not request.url.startswith(("http:", "https:")) or page in self._not_ours:
            return
        kind, body = request.headers.get("content-type", ""), request.post_data_buffer
        entry: dict[str, Any] = {"method": request.method, "url": cap_text(request.url.partition("#")[0])}
        if page is None and not request.is_navigation_request():
            entry["by_worker"] = True
        if body is not None or request.method not in _WITHOUT_BODY:
            text = _decode(body or b"", kind)
            entry |= {"kind": cap_text(kind), "body": text or ""}
            entry["cut"] = body is None or text is None or len(body) > MOST_BYTES
        if self._keep(self.requests, entry, len(entry["url"]) + len(entry.get("body", ""))):
            self._by_request[request] = entry
            if body is None and "cut" in entry:
                self._unread.append((request, entry))

    def _on_failed(self, request: Request) -> None:
        if request.is_navigation_request():
            self._aborted[request.url.partition("#")[0]] += 1

    def _on_download(self, download: Download) -> None:
        url = download.url.partition("#")[0]
        if self._aborted[url]:  # a navigation that became a download: its request was told of
            self._aborted[url] -= 1
        else:  # of a link with `download`
            self._keep_other(url)

    def _keep_other(self, url: str) -> None:
        if url.startswith(("http:", "https:")):
            self._keep(self.requests, {"method": "GET", "url": cap_text(url), "unanswered": True}, len(url))

    async def settle(self) -> None:
        """Find out which requests had no body, and what ran unseen.

        Chromium does not tell what files, or blobs, have in them.
        """
        await self._settle_unseen()
        unread, self._unread = self._unread, []
        found = await asyncio.gather(*(_has_body(request) for request, _ in unread))
        for (request, entry), has_body in zip(unread, found, strict=True):
            entry["cut"] = has_body is not False
            if has_body is None:
                self._unread.append((request, entry))

    async def _settle_unseen(self) -> None:
        browser = self._window.context.browser
        found = await _UNSEEN_OF[browser] if browser and browser in _UNSEEN_OF else {}
        if found and not self.unseen and self._window.context.pages:
            try:
                session = await self._window.cdp_session(self._window.context.pages[-1])
                target = (await session.send("Target.getTargetInfo"))["targetInfo"]
            except playwright_error():
                self.unseen = next(iter(found.values()))  # perhaps of another attempt: nobody knows
            else:
                self.unseen = found.get(target.get("browserContextId", ""), "")

    def _on_response(self, response: Response) -> None:
        entry = self._by_request.pop(response.request, None)
        if entry is not None:
            entry["status"] = response.status
            if response.from_service_worker:  # which may have passed it on: that is one request
                own = (one for one in self.requests if one.get("by_worker"))
                copy = next((one for one in own if all(one.get(k) == entry.get(k) for k in _SENT)), None)
                if copy is not None:
                    self.requests.remove(copy)

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


def _find_page(request: Request) -> Page | None:
    """Return the page that asks; None if a service worker does, or one that is about to open."""
    try:
        return request.frame.page
    except playwright_error():
        return None


async def _has_body(request: Request) -> bool | None:
    """Return whether something was sent; None if that is not known yet."""
    try:
        async with asyncio.timeout(_HEADERS_S):
            return (await request.all_headers()).get("content-length") != "0"
    except (TimeoutError, playwright_error()):
        return None


def _decode(body: bytes, kind: str) -> str | None:
    """Return the text of a body; None if it is not one."""
    kept = body[:MOST_BYTES]
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(kept, final=len(kept) == len(body))
    except UnicodeDecodeError:
        if not kind.startswith(FORMS):  # these may be of an older character set
            return None
        text = well_formed(kept.decode("latin-1"))
    return None if _CONTROL.search(text) else text
