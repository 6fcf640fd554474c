"""Hears from the browser, never from pages, which requests were answered with a server error.

Frames of other sites have a log of their own, whose messages come wrapped in those of the page. It does not
hear of workers: the browser writes no such lines for them, and to follow their requests costs two messages
for each.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any

from pytest_browsereval.addresses import is_same_site
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.features.shared.window_values import PerWindow

if TYPE_CHECKING:
    from playwright.async_api import Page

LISTENERS: PerWindow[Listener] = PerWindow()
"""Of the windows that are open."""

MOST = 5
"""Addresses that are named."""
_ATTACH_S = 5.0
_ATTACH = {
    "autoAttach": True,
    "waitForDebuggerOnStart": False,
    "flatten": False,
    "filter": [{"type": "iframe"}],
}
_STATUS = re.compile(r"responded with a status of (5\d\d)\b")


class Listener:
    """Warns of each address once.

    Args:
        window: is empty.
        sites: addresses of the run's sites; what others answer is not their fault.
    """

    def __init__(self, window: PlaywrightWindow, sites: Sequence[str]) -> None:
        self._capture: CaptureContext | None = None
        self._window = window
        self._sites = sites
        self._named: dict[str, None] = {}
        self._attaching: set[asyncio.Task[object]] = set()

    def warn_in(self, capture: CaptureContext) -> None:
        """Warn in an attempt, whose window is at the start page, also of what that has asked for."""
        self._capture = capture
        for message in self._named:
            capture.add_warning(ErrorSource.SITE, message)

    async def attach(self, page: Page) -> None:
        """Listen to a page, unless it is gone."""
        session = await self._window.cdp_session(page)
        for method in ("Log.entryAdded", "Target.attachedToTarget", "Target.receivedMessageFromTarget"):
            session.on(method, lambda event, method=method: self._on_event(page, method, event, ()))
        await self._listen(page, ())

    def attach_soon(self, page: Page) -> None:
        """Listen to a page that has just opened."""
        self._do_soon(self.attach(page))

    def _do_soon(self, work: Awaitable[object]) -> None:
        task = asyncio.ensure_future(quietly(work, _ATTACH_S))
        self._attaching.add(task)
        task.add_done_callback(self._attaching.discard)

    async def _listen(self, page: Page, way: tuple[str, ...]) -> None:
        """Listen to a page, or to a frame in it.

        Args:
            page: the page.
            way: the sessions that lead to it, the outermost first.
        """
        session = await self._window.cdp_session(page)
        await session.send(*_wrap("Log.enable", {}, way))
        await session.send(*_wrap("Target.setAutoAttach", _ATTACH, way))

    # Playwright ends its connection when a listener raises: this stays simple.

    def _on_event(self, page: Page, method: str, event: dict[str, Any], way: tuple[str, ...]) -> None:
        if method == "Log.entryAdded":
            self._on_entry(page, event)
        elif method == "Target.attachedToTarget":
            self._do_soon(self._listen(page, (*way, event["sessionId"])))
        elif method == "Target.receivedMessageFromTarget":
            told = json.loads(event["message"])
            self._on_event(page, told.get("method", ""), told.get("params", {}), (*way, event["sessionId"]))

    def _on_entry(self, page: Page, event: dict[str, Any]) -> None:
        entry = event["entry"]
        url, found = entry.get("url", ""), _STATUS.search(entry["text"])
        if entry["source"] != "network" or found is None:
            return  # what a page itself writes has another source
        if len(self._named) > MOST or not any(is_same_site(url, site) for site in self._sites):
            return
        if url == page.url.partition("#")[0]:
            return  # the page itself, whose status the step has
        message = f"the site answered HTTP {found[1]} to a request on the way: {shorten(url, 200)}"
        if len(self._named) == MOST and message not in self._named:
            message = (
                f"the site answered more than {MOST} requests with HTTP 500 and up; others are not named"
            )
        if message not in self._named:
            self._named[message] = None
            if self._capture is not None:
                self._capture.add_warning(ErrorSource.SITE, message)


def _wrap(method: str, params: dict[str, Any], way: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """Return what the outermost session is sent, so that the last one is sent a method."""
    for session in reversed(way):
        message = json.dumps({"id": 1, "method": method, "params": params})
        method, params = "Target.sendMessageToTarget", {"sessionId": session, "message": message}
    return method, params


async def listen(window: Window, sites: Sequence[str]) -> None:
    """Listen to a window from now on, if it has pages and is the attempt's own."""
    if isinstance(window, PlaywrightWindow) and not window.place.is_guest and sites:
        LISTENERS[window] = listener = Listener(window, sites)
        window.watchers.append(listener.attach_soon)
        await listener.attach(window.page)
