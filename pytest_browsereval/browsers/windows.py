"""Windows: an isolated Playwright context with numbered tabs, and the manager that opens and closes them."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import itertools
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_browsereval.browsers.base import Browser, PictureFormat, Tab, Window, WindowRequest
from pytest_browsereval.browsers.guard import OriginGuard
from pytest_browsereval.browsers.origins import EVERYTHING, AllowedOrigins, shorten
from pytest_browsereval.browsers.tabs import NoTab, Notes, OpenTab, Tabs
from pytest_browsereval.browsers.waiting import DialogOpened, DialogWatch, is_playwright_error, quietly
from pytest_browsereval.errors import ErrorSource, Fault

if TYPE_CHECKING:
    from playwright.async_api import (
        BrowserContext,
        CDPSession,
        Dialog,
        Download,
        Frame,
        Page,
        Response,
    )

T = TypeVar("T")

STUCK_S = 1.0
"""How long a page that did not react is given for its next picture."""
TOLD_DOWNLOADS = 5

_window_ids = itertools.count(1)


@dataclass(frozen=True)
class WindowRules:
    """Limits of a window."""

    allowed: AllowedOrigins = EVERYTHING
    action_s: float = 5.0
    """How long an action waits for its element."""
    navigation_s: float = 30.0
    """How long a navigation may take until the document is there."""
    load_s: float = 5.0
    """How much longer pictures, frames, new tabs and downloads are waited for."""
    picture_s: float = 5.0
    close_s: float = 5.0
    max_tabs: int = 20
    """Pages that are opened beyond this number are closed at once."""


@dataclass(frozen=True)
class WindowEvents:
    """What a window tells the browser that it belongs to."""

    attached: Callable[[str, PlaywrightWindow], None]
    """A page of it is known by this target id."""
    closed: Callable[[PlaywrightWindow, bool], None]
    """It has closed; False: it could not be closed in time."""


class PlaywrightWindow(Window):
    """A context of its own. Tabs are numbered 1, 2, ... in the order in which they were opened.

    Args:
        context: a fresh context without pages; it is closed with the window.
        rules: its limits.
        events: told of what the browser has to know.
    """

    def __init__(self, context: BrowserContext, rules: WindowRules, events: WindowEvents) -> None:
        self.window_id = next(_window_ids)
        self.context = context
        self.rules = rules
        self._events = events
        self._notes = Notes()
        self._dialogs = DialogWatch()
        self._guard = OriginGuard(rules.allowed, self._notes, self._dialogs)
        self._tabs = Tabs(
            rules.max_tabs,
            self._notes,
            opened=self._on_tab,
            flooded=self._close_page,
        )
        self._downloads: list[Download] = []
        self._download_begun = asyncio.Event()
        self._dead: str | None = None
        self._is_closed = False

    async def open(self) -> None:
        """Begin to listen and open the first tab, empty."""
        context, rules = self.context, self.rules
        context.set_default_timeout(rules.action_s * 1000)
        context.set_default_navigation_timeout(rules.navigation_s * 1000)
        context.on("page", self._on_page)
        context.on("dialog", self._on_dialog)
        context.on("close", self._on_closed)
        await self._guard.watch(context)
        await self.open_tab()

    # -- what it is

    @property
    def tab_id(self) -> int:
        """The tab that tools act on; 0 when none is open."""
        return self._tabs.current.tab_id if self._tabs.current else 0

    @property
    def url(self) -> str:
        """The address of the current tab; empty when it has gone."""
        return self._tabs.current.page.url if self._tabs.current else ""

    @property
    def dead(self) -> str | None:
        """Why the window can never be used again, or None."""
        return self._dead

    @property
    def page(self) -> Page:
        """The current tab's page.

        Raises:
            NoTab: none is open.
        """
        return self._tabs.get().page

    @property
    def viewport(self) -> tuple[int, int] | None:
        """Width and height of the visible part of the page in CSS pixels."""
        size = self._tabs.current.page.viewport_size if self._tabs.current else None
        return (size["width"], size["height"]) if size else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the report should know of."""
        return tuple(self._notes.warnings)

    @property
    def dialog(self) -> Dialog | None:
        """The dialog that waits for an answer, the oldest one first."""
        return self._dialogs.open[0] if self._dialogs.open else None

    def mark_dead(self, reason: str) -> None:
        """Remember why the window can never be used again, unless it was closed on purpose."""
        if not self._is_closed:
            self._dead = reason

    async def look(self) -> None:
        """Find out whether the window still lives, after something in it has gone."""
        try:
            await asyncio.wait_for(self.context.cookies("about:blank"), self.rules.action_s)
        except TimeoutError:
            return
        except Exception as error:
            if not is_playwright_error(error):
                raise
            self.mark_dead(self._dead or "The browser or its driver ended unexpectedly.")

    # -- tabs

    async def tabs(self) -> list[Tab]:
        """Return the open tabs in the order in which they were opened."""
        tabs = list(self._tabs.open)
        titles = await asyncio.gather(*(_title(tab.page) for tab in tabs))
        return [
            Tab(tab.tab_id, tab.page.url, title, tab is self._tabs.current)
            for tab, title in zip(tabs, titles, strict=True)
        ]

    async def open_tab(self) -> int:
        """Open an empty tab, make it the current one and return its number.

        Raises:
            NoTab: as many as may be are open.
        """
        page = await self.context.new_page()
        tab = self._tabs.of(page)
        if tab is None:
            raise NoTab(f"{self.rules.max_tabs} tabs are open, which is the most. Call close_tab first.")
        self._tabs.told(tab)
        self._tabs.current = tab
        return tab.tab_id

    async def select_tab(self, tab_id: int) -> None:
        """Make a tab the current one.

        Raises:
            NoTab: there is none of that number.
        """
        tab = self._tabs.current = self._tabs.get(tab_id)
        await quietly(tab.page.bring_to_front(), self.rules.action_s)

    async def close_tab(self, tab_id: int) -> None:
        """Close a tab; if it was the current one, the last one that is left becomes current.

        Raises:
            NoTab: there is none of that number, or it is the only one.
        """
        tab = self._tabs.get(tab_id)
        if len(self._tabs.open) == 1:
            raise NoTab(f"Tab {tab_id} is the only open tab and stays open. Call open_tab first.")
        was_current = tab is self._tabs.current
        self._tabs.forget(tab)
        await quietly(tab.page.close(), self.rules.close_s)
        if was_current and self._tabs.current is not None:
            await self.select_tab(self._tabs.current.tab_id)

    async def revive(self) -> bool:
        """Give the current tab a new page if it has crashed or hangs; it keeps its number.

        Returns:
            False if there was no need to.
        """
        tab = self._tabs.get()
        if not (tab.is_crashed or tab.is_stuck):
            return False
        self._tabs.spare = 1
        try:
            old = self._tabs.replace(tab, await self.context.new_page())
        finally:
            self._tabs.spare = 0
        await quietly(old.close(), self.rules.close_s)
        return True

    def mark_stuck(self) -> None:
        """The current tab did not react in time."""
        if self._tabs.current is not None:
            self._tabs.current.is_stuck = True

    def expect_tab(self) -> None:
        """A page of this window has opened another one, which is told of when it has an answer."""
        self._tabs.expect()

    # Playwright ends its connection when a listener raises: these stay simple.

    def _on_closed(self, _: BrowserContext) -> None:
        self.mark_dead(self._dead or "The browser closed the window.")

    def _on_page(self, page: Page) -> None:
        self._tabs.on_page(page)

    def _on_tab(self, tab: OpenTab) -> None:
        tab.page.on("close", self._dialogs.forget)
        tab.page.on("download", self._on_download)
        tab.page.on("framenavigated", self._on_navigated)
        tab.session = self._dialogs.spawn(self._attach(tab.page))

    def _close_page(self, page: Page) -> None:
        self._dialogs.spawn(page.close())

    def _on_dialog(self, dialog: Dialog) -> None:
        self._dialogs.on_dialog(dialog)

    def _on_download(self, download: Download) -> None:
        self._downloads.append(download)
        self._download_begun.set()

    def _on_navigated(self, frame: Frame) -> None:
        self._tabs.on_navigated(frame)
        self._guard.on_navigated(frame)

    # -- doing something in it

    async def watch(self, work: Coroutine[Any, Any, T], limit_s: float) -> T:
        """Await work in the page, but no longer than until a dialog opens or the time is up.

        Raises:
            DialogOpened: the work goes on in the background once the dialog is answered.
            TimeoutError: it was cancelled.
        """
        return await self._dialogs.watch(work, limit_s)

    async def answer_dialog(self, *, accept: bool, text: str | None = None) -> bool:
        """Answer the oldest open dialog, then let what it held up go on.

        Returns:
            False if the dialog had gone already.

        Raises:
            LookupError: none is open.
        """
        return await self._dialogs.answer(accept=accept, text=text, limit_s=self.rules.action_s)

    async def goto(self, url: str) -> Response | None:
        """Navigate the current tab and return when the document is there."""
        await self.revive()
        return await self.page.goto(url, wait_until="domcontentloaded")

    async def settle(self) -> None:
        """Wait, within limits, for the tabs and documents that an action has begun to load."""
        limit_s = self.rules.load_s
        if self._tabs.expected:
            await quietly(self._tabs.arrived.wait(), limit_s)
            self._tabs.expected = 0
        self._tabs.promote()
        tab = self._tabs.current
        if tab is not None and (tab.has_navigated or tab in self._tabs.fresh):
            tab.has_navigated = False
            await quietly(tab.page.wait_for_load_state("load", timeout=limit_s * 1000), limit_s)

    async def snapshot(self) -> str:
        """Return the current tab as a tree of roles, names and texts, with a ref for each element."""
        tab = self._tabs.get()
        limit_s = self.rules.action_s + self.rules.load_s  # a page of 10,000 elements takes seconds
        tree = await tab.page.aria_snapshot(mode="ai", timeout=limit_s * 1000)
        self._tabs.snapshot = tab
        return tree

    def check_ref(self, ref: str) -> None:
        """Refuse a ref that cannot be of the current tab.

        Raises:
            NoTab: the latest snapshot is of another tab, or none was taken.
        """
        self._tabs.check_ref(ref)

    async def download_begins(self) -> None:
        """Wait, within limits, for a download that a navigation has turned out to be."""
        await quietly(self._download_begun.wait(), self.rules.load_s)

    async def take_notes(self) -> list[str]:
        """Return what has happened beside the action itself since this was last called."""
        self._tabs.promote()
        fresh, self._tabs.fresh = self._tabs.fresh, []
        for tab in fresh:
            title = shorten(await _title(tab.page), 60)
            is_current = "; it is the current tab" if tab is self._tabs.current else ""
            where = shorten(tab.page.url)
            self._notes.say(f"A new tab opened: tab {tab.tab_id} {title!r} ({where}){is_current}.")
        downloads, self._downloads = self._downloads, []
        self._download_begun.clear()
        for download in downloads[:TOLD_DOWNLOADS]:
            self._notes.say(await self._told(download))
        if len(downloads) > TOLD_DOWNLOADS:
            self._notes.say(f"{len(downloads) - TOLD_DOWNLOADS} more files were downloaded.")
        return self._notes.take()

    async def _told(self, download: Download) -> str:
        name = shorten(download.suggested_filename, 80)
        path = await quietly(download.path(), self.rules.load_s)
        if path is None:
            return f"The download of {name!r} failed or is not complete yet."
        return f"Downloaded file name {name!r} ({path.stat().st_size} bytes)."

    # -- pictures

    async def screenshot(self, picture: PictureFormat = "jpeg", quality: int = 80) -> bytes:
        """Return a picture of the current tab's viewport, in CSS pixels at any device scale.

        So a point of the picture is a point for the tools that take coordinates.

        Raises:
            Fault: source *screenshot*, when the page cannot be drawn.
        """
        tab = self._drawable()
        limit_s = STUCK_S if tab.is_stuck else self.rules.picture_s
        try:
            data = await self.watch(self._draw(tab, picture, quality), limit_s)
        except DialogOpened:
            reason = "a dialog opened, and the page is not drawn meanwhile"
        except TimeoutError:
            tab.is_stuck = True
            reason = f"the page {shorten(tab.page.url)} was not drawn within {limit_s:g} s"
        except Exception as error:
            if not is_playwright_error(error):
                raise
            reason = shorten(str(error), 200)
        else:
            tab.is_stuck = False
            return data
        raise Fault(ErrorSource.SCREENSHOT, reason)

    def _drawable(self) -> OpenTab:
        tab, reason = self._tabs.current, ""
        if tab is None:
            reason = "no tab is open"
        elif tab.is_crashed:
            reason = "the page has crashed"
        elif self._dialogs.open:
            reason = "a dialog is open, and the page is not drawn meanwhile"
        if tab is None or reason:
            raise Fault(ErrorSource.SCREENSHOT, reason)
        return tab

    async def _draw(self, tab: OpenTab, picture: PictureFormat, quality: int) -> bytes:
        options: dict[str, Any] = {} if picture == "png" else {"quality": quality}
        try:
            if tab.session is None:
                tab.session = self._dialogs.spawn(self._attach(tab.page))
            session = await asyncio.shield(tab.session)
            reply = await session.send("Page.captureScreenshot", {"format": picture, **options})
        except Exception as error:
            if not is_playwright_error(error) or tab.is_crashed:
                raise
            tab.session = None
            return await tab.page.screenshot(type=picture, scale="css", **options)
        return base64.b64decode(reply["data"])

    async def _attach(self, page: Page) -> CDPSession:
        session = await self.context.new_cdp_session(page)
        info = await session.send("Target.getTargetInfo")
        self._events.attached(info["targetInfo"]["targetId"], self)
        return session

    # -- the end

    async def close(self) -> None:
        """Close every page of it; never raises, and closing twice is harmless."""
        if self._is_closed:
            return
        self._is_closed = True
        is_in_time = True
        try:
            await asyncio.wait_for(self.context.close(), self.rules.close_s)
        except TimeoutError:
            is_in_time = False
        except Exception as error:
            if not is_playwright_error(error):
                raise
        finally:
            self._tabs.clear()
            self._events.closed(self, is_in_time)
            await self._dialogs.end()


async def _title(page: Page) -> str:
    return await quietly(page.title(), 1.0) or ""


class WindowManager:
    """Opens and closes the windows of a process; every attempt has one, under a key of its own.

    Args:
        browser: where the windows open; started.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._windows: dict[str, Window] = {}
        self._opening: set[str] = set()
        self.opened = 0
        """How many windows were opened so far."""
        self.closed = 0
        """How many of them were closed: equal to ``opened`` when none is left."""

    @property
    def windows(self) -> dict[str, Window]:
        """The windows that are open, by key."""
        return dict(self._windows)

    async def create_window(
        self, query_id: str, start_url: str | None = None, setup_script: str | None = None
    ) -> Window:
        """Open a window at its start page.

        Args:
            query_id: the attempt's key; any text that no open window has.
            start_url: absolute; None opens an empty page.
            setup_script: JavaScript evaluated in the start page.

        Raises:
            Fault: source *window_creation* or *navigation*; nothing is left open.
            ValueError: a window of that key is open.
        """
        if query_id in self._windows or query_id in self._opening:
            raise ValueError(
                f"A window is already open for {query_id!r}. Close it by close_window({query_id!r}) first, "
                "or give each attempt a key of its own."
            )
        self._opening.add(query_id)
        try:
            window = await self._browser.open_window(WindowRequest(query_id, start_url, setup_script))
        finally:
            self._opening.discard(query_id)
        self.opened += 1
        self._windows[query_id] = window
        return window

    async def close_window(self, query_id: str) -> None:
        """Close the window of that key, if there is one; it closes even if the caller is cancelled."""
        window = self._windows.pop(query_id, None)
        if window is not None:
            await asyncio.shield(self._close(window))

    async def _close(self, window: Window) -> None:
        try:
            await window.close()
        finally:
            self.closed += 1

    async def close_all(self) -> None:
        """Close every window that is open."""
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*(self.close_window(key) for key in list(self._windows)))
