"""Notices that a page asks for a file, and keeps the chooser until it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.features.shared.window_values import PerWindow

if TYPE_CHECKING:
    from playwright.async_api import ElementHandle, FileChooser, Page

ASKS = "The page asks for a file: call upload_file."

_ATTACH_S = 5.0


class Choosers:
    """The choosers that the pages of a window have opened."""

    def __init__(self, window: PlaywrightWindow) -> None:
        self._window = window
        self._is_quiet = False
        self._told = 0
        self._asked = asyncio.Event()
        self._came = asyncio.Event()
        self._latest: FileChooser | None = None
        self._attaching: set[asyncio.Task[object]] = set()

    async def attach(self, page: Page) -> None:
        """Notice from now on what a page asks for: no chooser shows up then, even in a window with a head."""
        page.on("filechooser", self._on_chooser)
        session = await self._window.cdp_session(page)
        # Chromium tells of it before it answers the click, Playwright some time later.
        session.on("Page.fileChooserOpened", self._on_asked)
        await session.send("Page.setInterceptFileChooserDialog", {"enabled": True})

    def attach_soon(self, page: Page) -> None:
        """Attach to a page that has just opened."""
        task = asyncio.create_task(quietly(self.attach(page), _ATTACH_S))
        self._attaching.add(task)
        task.add_done_callback(self._attaching.discard)

    # Playwright ends its connection when a listener raises: these stay simple.

    def _on_asked(self, event: dict[str, Any]) -> None:
        if "backendNodeId" in event:
            self._told += 1
            self._tell()

    def _on_chooser(self, chooser: FileChooser) -> None:
        self._latest = chooser
        self._came.set()
        if self._told:
            self._told -= 1
        else:
            self._tell()  # a frame in a process of its own

    def _tell(self) -> None:
        self._asked.set()
        if not self._is_quiet:
            self._window.say(ASKS)

    @contextmanager
    def answer(self) -> Iterator[None]:
        """Say nothing of a chooser that opens in the block: it is answered there."""
        self._is_quiet, self._latest = True, None
        self._asked.clear()
        self._came.clear()
        try:
            yield
        finally:
            self._is_quiet = False

    async def take(self, limit_s: float = 0.0) -> ElementHandle | None:
        """Return the field that the latest chooser is for, once; None if the page asks for no file.

        Args:
            limit_s: how long to wait for a chooser.
        """
        if not self._asked.is_set():
            await quietly(self._asked.wait(), limit_s)
        if not self._asked.is_set():
            return None
        action_s = self._window.rules.action_s
        await quietly(self._came.wait(), action_s)
        self._asked.clear()
        self._came.clear()
        latest, self._latest = self._latest, None
        # A document that was left takes its choosers along.
        is_there = latest and await quietly(latest.element.evaluate("() => true"), action_s)
        return latest.element if latest and is_there else None


_of: PerWindow[Choosers] = PerWindow()


async def watch_choosers(window: Window) -> None:
    """Notice from now on that a page of a window asks for a file, unless a program drives the window."""
    if isinstance(window, PlaywrightWindow) and window.cdp_url is None:
        _of[window] = choosers = Choosers(window)
        window.watchers.append(choosers.attach_soon)
        await choosers.attach(window.page)


def choosers_of(window: PlaywrightWindow) -> Choosers:
    """Return what is known of the choosers of a window."""
    return _of.get(window) or Choosers(window)
