"""A window of Playwright: an isolated context with numbered tabs."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_browsereval.browsers.base import PageError, PictureFormat, Tab, Window
from pytest_browsereval.browsers.playwright.clipboard import DOWNLOAD, QUESTION, WATCH
from pytest_browsereval.browsers.playwright.downloads import Downloads
from pytest_browsereval.browsers.playwright.origins import cap_text
from pytest_browsereval.browsers.playwright.page_text import read_title, take_snapshot
from pytest_browsereval.browsers.playwright.pictures import Camera
from pytest_browsereval.browsers.playwright.place import Place, WindowRules
from pytest_browsereval.browsers.playwright.tabs import NoTab, Notes, OpenTab, Tabs, notice
from pytest_browsereval.browsers.playwright.waiting import DialogWatch, Pace, playwright_error, quietly
from pytest_browsereval.model.messages import Hit

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Dialog, Frame, Locator, Page, Response

    from pytest_browsereval.browsers.playwright.chromium import Connection

T = TypeVar("T")

_window_ids = itertools.count(1)
_ERROR_PAGE_S = 0.5
"""Chromium shows its page about an address that did not load sooner."""


class PlaywrightWindow(Window):
    """Pages of a context, in tabs that are numbered 1, 2, ... in the order in which they were opened.

    Args:
        place: the context that it is in.
        rules: its limits.
        connection: tells its browser of new pages, of the window's end and of what is copied.
    """

    def __init__(self, place: Place, rules: WindowRules, connection: Connection) -> None:
        self.window_id = next(_window_ids)
        self.context = place.context
        self.rules = rules
        self.place = place
        self._connection = connection
        self._notes = Notes()
        self._dialogs = DialogWatch()
        self._camera = Camera(self._dialogs, self._attach)
        self._not_ours = tuple(place.context.pages) if place.is_guest else ()
        self._tabs = Tabs(
            rules.max_tabs + len(self._not_ours),
            self._notes,
            self._dialogs,
            allowed=rules.allowed,
            behind=place.origins,
            opened=self._on_tab,
        )
        self.downloads = Downloads()
        """What pages have downloaded."""
        self.watchers: list[Callable[[Page], object]] = []
        """Told of each page of the window as it opens."""
        self.endings: list[Callable[[], Awaitable[object]]] = []
        """Done before the pages close; each sees to its own time and never raises."""
        self.hit: Hit | None = None
        """The element that the call under way acts on; None while that is not known."""
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
        if not self.place.is_guest and self.place.cdp_url is None:  # else the browser or its user is alone
            await context.add_init_script(WATCH)
        for page in context.pages if self.place.has_all_pages() else ():
            self._tabs.on_page(page)
        if self.place.is_guest or self._tabs.current is None:
            await self.open_tab()
        # The agent knows of the tab that the attempt begins with.
        self._tabs.fresh.clear()

    @property
    def tab_id(self) -> int:
        """The tab that tools act on; 0 when none is open."""
        return self._tabs.current.tab_id if self._tabs.current else 0

    @property
    def url(self) -> str:
        """The address of the current tab; empty when it has gone."""
        return cap_text(self._tabs.current.page.url) if self._tabs.current else ""

    @property
    def figures(self) -> Mapping[str, Any]:
        """Its last address, and how many files were downloaded, unless a program may have taken some."""
        count = self.downloads.count
        return {**super().figures, "download_count": count if self.cdp_url is None else count or None}

    @property
    def dead(self) -> str | None:
        """Why the window can never be used again, or None."""
        return self._dead

    @property
    def page_error(self) -> PageError | None:
        """The error that the current page was answered with, if there is one."""
        return self.error_of(self.tab_id)

    def take_error(self, error: PageError) -> None:
        """Count the current page as answered with an error that its server did not send."""
        self._tabs.take_error(self.tab_id, error)

    def error_of(self, tab_id: int) -> PageError | None:
        """Return the error that the page of a tab was answered with, if there is one and the tab is open."""
        return next((tab.error for tab in self._tabs.open if tab.tab_id == tab_id), None)

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
    def cdp_url(self) -> str | None:
        """Where another process attaches by the DevTools protocol; None unless the request wanted it."""
        return self.place.cdp_url

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader of the report should know, once the attempt has ended."""
        late = (
            f"The {task.get_name()} was still loading when the attempt ended."
            for task in self.downloads.loading
        )
        return (*self._notes.warnings, *late)

    @property
    def dialog(self) -> Dialog | None:
        """The dialog that waits for an answer, the oldest one first."""
        return self._dialogs.open[0] if self._dialogs.open else None

    def mark_dead(self, reason: str) -> None:
        """Remember why the window can never be used again, unless it was closed on purpose."""
        if not self._is_closed:
            self._dead = reason

    async def look(self) -> None:
        """Find out whether the window still lives, and how its page was answered.

        When a browser dies, Playwright reports its pages first, and the browser's end some time later.
        """
        if self._dead is not None:
            return
        try:
            async with asyncio.timeout(self.rules.action_s):
                await self._ask()
            if (tab := self._tabs.current) and not self._dialogs.open:
                await self._tabs.ask_answer(tab, self._camera.session, self.rules.title_s)
        except TimeoutError:
            return
        except playwright_error():
            self.mark_dead(self._dead or "The browser or its driver ended unexpectedly.")  # set meanwhile?

    # -- tabs

    async def tabs(self) -> list[Tab]:
        """Return the open tabs in the order in which they were opened."""
        tabs = list(self._tabs.open)
        titles = await asyncio.gather(*(read_title(tab.page, self.rules.title_s) for tab in tabs))
        return [
            Tab(tab.tab_id, cap_text(tab.page.url), title, tab is self._tabs.current)
            for tab, title in zip(tabs, titles, strict=True)
        ]

    async def open_tab(self) -> int:
        """Open an empty tab, make it the current one and return its number.

        Raises:
            NoTab: no more tabs may be opened.
        """
        tab = self._tabs.of(await self._new_page())
        if tab is None:
            raise NoTab(f"{self.rules.max_tabs} tabs are open, which is the limit. Call close_tab first.")
        self._tabs.mark_known(tab)
        self._tabs.current = tab
        return tab.tab_id

    async def _new_page(self) -> Page:
        page = await self.context.new_page()
        if self.place.is_guest and self.place.cdp_url is None:
            await page.add_init_script(WATCH)
        if not self.place.has_all_pages():
            self._tabs.on_page(page)
        await self.place.show(page)
        return page

    async def select_tab(self, tab_id: int) -> None:
        """Make a tab the current one.

        Raises:
            NoTab: there is none of that number.
        """
        tab = self._tabs.current = self._tabs.get(tab_id)
        # Chromium throttles timers and frames of pages that are behind others.
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

    async def reopen(self) -> None:
        """Open an empty tab if none is left, so that there is a page to judge; never raises."""
        if self._tabs.current is None:
            self._notes.warn("The agent's last page was closed; an empty one was opened for the graders.")
            await quietly(self.open_tab(), self.rules.action_s)

    async def revive(self) -> bool:
        """Give the current tab a new page if it has crashed or hangs; it keeps its number.

        Returns:
            False if there was no need to.
        """
        tab = self._tabs.get()
        if not (tab.is_crashed or tab.is_stuck):
            return False
        # For a moment there is one more: the old page closes once the new one is there.
        self._tabs.spare = 1
        try:
            old = self._tabs.replace(tab, await self._new_page())
        finally:
            self._tabs.spare = 0
        await quietly(old.close(), self.rules.close_s)
        return True

    def mark_stuck(self) -> None:
        """Note that the current tab did not react in time."""
        if self._tabs.current is not None:
            self._tabs.current.is_stuck = True

    def tab_of(self, page: Page | None) -> int | None:
        """Return the number of a page's tab; None for a page of another window."""
        tab = None if page is None else self._tabs.of(page)
        return None if tab is None else tab.tab_id

    def expect_tab(self) -> None:
        """Note that a page of this window opened another one; Playwright reports it once it has an answer."""
        self._tabs.expect()

    # Playwright ends its connection when a listener raises: these stay simple.

    def _on_closed(self, _: BrowserContext) -> None:
        self.mark_dead(self._dead or "The browser closed the window.")

    def _on_page(self, page: Page) -> None:
        if self.place.has_all_pages():
            self._tabs.on_page(page)
            self._follow(page)
        if self.place.is_guest:
            self._dialogs.spawn(self._receive(page))

    async def _receive(self, page: Page) -> None:
        if not self.place.has_all_pages():
            opener = await page.opener()
            if opener is None or self._tabs.of(opener) is None:
                return  # a page of someone else, or one that we open ourselves
            self._tabs.on_page(page)
        await self.place.show(page)

    def _follow(self, page: Page) -> None:
        if self.place.cdp_url is not None:
            self._tabs.current = self._tabs.of(page) or self._tabs.current

    def _on_tab(self, tab: OpenTab) -> None:
        tab.page.on("close", self._dialogs.forget)
        tab.page.on("download", self.downloads.on_download)
        tab.page.on("framenavigated", self._on_navigated)
        tab.page.on("domcontentloaded", self._tabs.on_document)
        self._camera.point_at(tab)
        for tell in self.watchers:
            tell(tab.page)

    def _on_dialog(self, dialog: Dialog) -> None:
        page = dialog.page
        if self.place.has_all_pages() or (page is not None and self._tabs.of(page) is not None):
            if dialog.message == DOWNLOAD:
                self.downloads.expect()
                self._dialogs.spawn(dialog.accept())
            elif dialog.message.startswith(QUESTION):
                self._dialogs.spawn(self._connection.clipboard.answer(self, dialog))
            else:
                self._dialogs.on_dialog(dialog)

    def _on_navigated(self, frame: Frame) -> None:
        self._tabs.on_navigated(frame)
        if frame.parent_frame is None:
            self._follow(frame.page)

    # -- doing something in it

    def pace(self) -> Pace:
        """Return what measures, during a call, how soon the browser answers."""
        return Pace(self._ask)

    async def _ask(self) -> object:
        # The cheapest question that the browser process answers itself, no matter what its pages do.
        return await self.context.cookies("about:blank")

    def warn(self, text: str) -> None:
        """Tell the reader of the report, once."""
        self._notes.warn(text)

    def say(self, text: str) -> None:
        """Tell the agent with the result of its call."""
        self._notes.say(text)

    def unsay(self, text: str) -> None:
        """Leave out of the result what no longer holds."""
        self._notes.unsay(text)

    def watch(self, work: Coroutine[Any, Any, T], limit_s: float) -> Coroutine[Any, Any, T]:
        """Await work in the page, but no longer than until a dialog opens or the time is up.

        Raises:
            DialogOpened: the work goes on in the background once the dialog is answered.
            TimeoutError: it was cancelled.
        """
        return self._dialogs.watch(work, limit_s)

    async def answer_dialog(self, *, accept: bool, text: str | None = None) -> bool:
        """Answer the oldest open dialog, then let what it held up go on.

        Returns:
            False if the dialog had gone already.

        Raises:
            LookupError: none is open.
        """
        return await self._dialogs.answer(accept=accept, text=text, limit_s=self.rules.action_s)

    def forget_dialogs(self, page: Page) -> None:
        """Drop the dialogs of a page that another client has answered, which Playwright does not report."""
        self._dialogs.forget(page)

    async def goto(self, url: str) -> Response | None:
        """Navigate the current tab and return when the document is there."""
        await self.revive()
        tab = self._tabs.get()
        tab.navigated.clear()
        try:
            response = await tab.page.goto(url, wait_until="domcontentloaded")
        except playwright_error() as error:
            # Chromium's page about it would interrupt the next navigation; of what is aborted there is none.
            if "net::ERR_" in str(error) and "ERR_ABORTED" not in str(error):
                await quietly(tab.navigated.wait(), _ERROR_PAGE_S)
            raise
        self._tabs.take_response(tab, response)
        return response

    async def settle(self) -> None:
        """Wait, within limits, for the tabs and documents that an action has begun to load."""
        # The page that opens may need a moment until Playwright tells of it.
        limit_s = self.rules.load_s
        if self._tabs.expected:
            if await quietly(self._tabs.arrived.wait(), limit_s) is None:
                late = f"A tab is opening, and its page has not answered within {limit_s:g} s."
                self._notes.say(late)
                self._notes.warn(late)
            self._tabs.expected = 0
        await self.downloads.begin(limit_s)
        self._tabs.promote()
        tab = self._tabs.current
        if tab is not None and (tab.navigated.is_set() or tab in self._tabs.fresh):
            tab.navigated.clear()
            await self._tabs.load(tab, limit_s, self.rules.title_s)
            await self._tabs.ask_answer(tab, self._camera.session, self.rules.title_s)

    async def snapshot(self, part: Locator | None = None) -> str:
        """Return the current tab as a tree of roles, names and texts, with a ref for each element."""
        tab = self._tabs.get()
        tree = await take_snapshot(tab.page, part, self.rules.action_s + self.rules.load_s)
        return self._tabs.note_snapshot(tab, tree)

    def recall_ref(self, ref: str) -> tuple[str, str]:
        """Return the role and the name that an earlier snapshot of the current tab has for a ref, or ""."""
        return self._tabs.get().recall(ref)

    def check_ref(self, ref: str) -> None:
        """Refuse a ref that cannot be of the current tab.

        Raises:
            NoTab: the latest snapshot is of another tab, or none was taken.
        """
        self._tabs.check_ref(ref)

    async def finish(self) -> list[str]:
        """Wait, within limits, for downloads under way, and return what the agent was not told of them."""
        return await self.downloads.take(self.rules.load_s, is_end=True)

    async def take_notes(self) -> list[str]:
        """Return what has happened apart from the action itself since this was last called."""
        await self._tabs.tell_fresh(self.rules.title_s)
        for note in await self.downloads.take(self.rules.load_s):
            self._notes.say(note)
        return self._notes.take()

    # -- pictures

    async def screenshot(self, picture: PictureFormat = "jpeg", quality: int = 80) -> bytes:
        """Return a picture of the current tab's viewport, in CSS pixels at any device scale.

        So a point of the picture is a point for the tools that take coordinates.

        Raises:
            Fault: source *screenshot*, when the page cannot be drawn.
        """
        return await self._camera.picture(self._tabs.current, picture, quality, self.rules.picture_s)

    async def markup(self) -> str:
        """Return the HTML of the current tab as it is now, frames and shadow trees included.

        Raises:
            Fault: source *screenshot*, when the page does not answer.
        """
        return await self._camera.markup(self._tabs.current, self.rules.picture_s)

    async def cdp_session(self, page: Page) -> CDPSession:
        """Return the DevTools session to a tab's page; it belongs to the window, so do not detach it.

        Raises:
            NoTab: the page has been closed.
        """
        tab = self._tabs.of(page)
        if tab is None:
            raise NoTab("The page has been closed.")
        return await self._camera.session(tab)

    async def _attach(self, page: Page) -> CDPSession:
        session = await self.context.new_cdp_session(page)
        info = await session.send("Target.getTargetInfo")
        # Pages of the browser's user open tabs of theirs, which are none of ours.
        if page not in self._not_ours:
            self._connection.by_target[info["targetInfo"]["targetId"]] = self
        if self.place.cdp_url is not None:  # Playwright does not report a dialog that others have answered
            session.on("Page.javascriptDialogClosed", lambda _: self._dialogs.forget(page))
            await session.send("Page.enable")
            await notice(session, lambda: self._follow(page))
        return session

    async def close(self) -> None:
        """Close every page of it; never raises, and closing twice is harmless."""
        if self._is_closed:
            return
        self._is_closed = is_in_time = True
        try:
            # Before the pages go: a trace is read from them.
            for work in self.endings:
                await work()
            await asyncio.wait_for(self._leave(), self.rules.close_s)
        except TimeoutError:
            is_in_time = False
        except playwright_error():
            pass  # it has gone already
        finally:
            self._tabs.clear()
            # Also after a close that failed: work that waits for a dialog would wait for ever.
            await self._dialogs.end()
            await self._connection.on_closed(self, in_time=is_in_time)

    async def _leave(self) -> None:
        if not self.place.is_guest:
            await self.context.close()
            return
        self.context.remove_listener("page", self._on_page)
        self.context.remove_listener("dialog", self._on_dialog)
        self.context.remove_listener("close", self._on_closed)
        ours = [tab.page for tab in self._tabs.open if tab.page not in self._not_ours]
        await asyncio.gather(*(page.close() for page in ours), return_exceptions=True)
