"""The manager that opens and closes the windows of a process."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from typing import Any

from pytest_browsereval.browsers.base import Browser, BrowserConfig, Window, WindowRequest
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.contracts import check_result, describe_member, naming
from pytest_browsereval.errors import ErrorSource, Fault, PluginError, StopRun


class WindowManager:
    """Opens and closes the windows of a process; every attempt has one, under a key of its own.

    Args:
        browser: where the windows open; started. If it takes a limited number of windows at once,
            further ones wait for their turn.
        block: the browser's block, which says what its windows are; None checks less.
    """

    def __init__(self, browser: Browser, *, block: BrowserConfig | None = None) -> None:
        self._browser = browser
        self._block = block
        self._turns = asyncio.Semaphore(browser.survey.max_windows or sys.maxsize)
        self._windows: dict[str, Window] = {}
        self.opened = 0
        """How many windows were opened so far."""
        self.closed = 0
        """How many of them were closed: equal to ``opened`` when none is left."""

    @property
    def windows(self) -> dict[str, Window]:
        """The windows that are open, by key."""
        return dict(self._windows)

    async def create_window(
        self, query_id: str, start_url: str | None = None, setup_script: str | None = None, **more: Any
    ) -> Window:
        """Open a window at its start page.

        Args:
            query_id: the attempt's key; any text that no open window has.
            start_url: absolute; None opens an empty page.
            setup_script: JavaScript evaluated in the start page.
            more: further fields of ``WindowRequest``.

        Raises:
            Fault: source *window_creation* or *navigation*; nothing is left open.
            ValueError: a window of that key is open.
        """
        # Two attempts under one key would close each other's window.
        if query_id in self._windows:
            raise ValueError(
                f"A window is already open for {query_id!r}. Close it with close_window({query_id!r}) first, "
                "or give each attempt a key of its own."
            )
        window = await self._open(WindowRequest(query_id, start_url, setup_script, **more))
        self.opened += 1
        self._windows[query_id] = window
        return window

    async def _open(self, request: WindowRequest) -> Window:
        await self._turns.acquire()
        try:
            return await self._open_checked(request)
        except BaseException:
            self._turns.release()
            raise

    async def _open_checked(self, request: WindowRequest) -> Window:
        """Open a window and check that it is one of those that the browser's block promises."""
        member = self._browser if self._block is None else self._block
        try:
            with naming(member, "open_window"):
                window = await self._browser.open_window(request)
            check_result(
                member, "open_window", window, Window, "a Window", function=self._browser.open_window
            )
        except PluginError as error:
            raise Fault(ErrorSource.WINDOW_CREATION, str(error)) from error
        if self._block is not None and self._block.has_page and not isinstance(window, PlaywrightWindow):
            await window.close()
            raise StopRun(
                ErrorSource.WINDOW_CREATION,
                f"{describe_member(self._block)}: `has_page` is true, and `open_window` returned a "
                f"{type(window).__name__}, on which built-in tools and graders cannot work. Return a "
                "PlaywrightWindow, or leave `has_page` false.",
            )
        return window

    async def close_window(self, query_id: str) -> None:
        """Close the window of that key, if there is one; it closes even if the caller is cancelled."""
        window = self._windows.pop(query_id, None)
        if window is not None:
            # A window that stays open would count against the limit of the browser for ever.
            await asyncio.shield(self._close(window))

    async def _close(self, window: Window) -> None:
        try:
            await window.close()
        finally:
            self.closed += 1
            self._turns.release()

    async def close_all(self) -> None:
        """Close every window that is open; one that cannot be closed does not keep the others open."""
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*map(self.close_window, list(self._windows)), return_exceptions=True)
