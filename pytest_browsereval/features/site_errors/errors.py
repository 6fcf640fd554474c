"""Hears from the browser, never from pages, which requests were answered with a server error.

It does not hear of workers and of frames of other hosts: these have a log of their own, or none, and to
follow them costs two messages for each.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
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
        session.on("Log.entryAdded", lambda event: self._on_entry(page, event))
        await session.send("Log.enable")

    def attach_soon(self, page: Page) -> None:
        """Listen to a page that has just opened."""
        task = asyncio.ensure_future(quietly(self.attach(page), _ATTACH_S))
        self._attaching.add(task)
        task.add_done_callback(self._attaching.discard)

    # Playwright ends its connection when a listener raises: this stays simple.

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


async def listen(window: Window, sites: Sequence[str]) -> None:
    """Listen to a window from now on, if it has pages and is the attempt's own."""
    if isinstance(window, PlaywrightWindow) and not window.place.is_guest and sites:
        LISTENERS[window] = listener = Listener(window, sites)
        window.watchers.append(listener.attach_soon)
        await listener.attach(window.page)
