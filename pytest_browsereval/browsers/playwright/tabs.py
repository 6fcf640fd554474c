"""The tabs of a window: their numbers, what pages do apart from an action, and which one is worked in."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.base import PageError
from pytest_browsereval.browsers.playwright.origins import AllowedOrigins, origin_of, shorten
from pytest_browsereval.browsers.playwright.page_text import read_title
from pytest_browsereval.browsers.playwright.waiting import (
    DialogWatch,
    describe_unloaded,
    playwright_error,
    quietly,
)
from pytest_browsereval.browsers.playwright.world import ApartError, ask_apart
from pytest_browsereval.errors import BrowserEvalError

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Download, Frame, Page, Request, Response

    from pytest_browsereval.browsers.origin_filter import OriginFilter

_STATUS = "() => performance.getEntriesByType('navigation')[0]?.responseStatus ?? 0"

_TOLD_ELSEWHERE = ("ERR_ABORTED", "ERR_HTTP_RESPONSE_CODE_FAILURE")
"""Why pages do not load: a download or another navigation, a status."""
_NODE = r"""^ *- '?(\w+)(?: ("(?:[^"\\]|\\.)*"))?[^\n]*\[ref={ref}\]"""
"""The line of an element in a snapshot."""
_WORLD = "browsereval"
"""A world of scripts of its own: the page does not see what runs there."""
_BINDING = "browserevalAtWork"
_LISTEN = f"""for (const kind of ['pointerdown', 'click', 'keydown', 'input', 'wheel'])
  addEventListener(kind, () => globalThis.{_BINDING}?.(kind), {{capture: true, passive: true}})"""

_BEGAN = "performance.timeOrigin"
_LOADING = Path(__file__).with_name("loading.js").read_text(encoding="utf-8")


_DOWNLOAD_S = 5.0
"""How long after a download begins a tab without an address is one that was opened for it alone."""


class NoTab(BrowserEvalError):
    """No tab is open, or none of that number; the message tells what to call."""


class Notes:
    """What happens apart from the actions of an agent."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        """What a reader of the report should know of."""
        self._said: list[str] = []

    def say(self, text: str) -> None:
        """Tell the agent with the result of its call."""
        self.unsay(text)
        self._said.append(text)

    def unsay(self, text: str) -> None:
        """Leave out of the result what no longer holds."""
        self._said = [one for one in self._said if one != text]

    def warn(self, text: str) -> None:
        """Tell the reader of the report, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def take(self) -> list[str]:
        """Return what the agent does not know yet."""
        said, self._said = self._said, []
        return said


@dataclass(eq=False)
class OpenTab:
    """One page and what is known of it."""

    tab_id: int
    page: Page
    is_crashed: bool = False
    is_stuck: bool = False
    """It did not react in time."""
    navigated: asyncio.Event = field(default_factory=asyncio.Event)
    """Set where it has, since it was last waited for."""
    error: PageError | None = None
    """What its document was answered with."""
    is_answered: bool = False
    """It is known how its document was answered."""
    unloaded: tuple[str, str] = ("", "")
    """The address that did not load last, and the name that Chromium has for the reason."""
    late: float | None = None
    """When its document began, if that did not finish loading in time: it is not waited for again."""
    is_parsed: bool = False
    """Its latest navigation led to a document, all of which is there: ``loaded`` will be set."""
    loaded: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once everything of that document has loaded."""
    session: asyncio.Task[CDPSession] | None = None
    """For pictures; attached when the tab opens."""
    trees: deque[str] = field(default_factory=lambda: deque(maxlen=5))
    """The latest snapshots: what their refs were."""

    def recall(self, ref: str) -> tuple[str, str]:
        """Return the role and the name that a snapshot has for a ref; empty if none of the latest has it."""
        for tree in reversed(self.trees):
            if line := re.search(_NODE.format(ref=ref), tree, re.MULTILINE):
                with suppress(ValueError):  # YAML's own escapes
                    return line[1], json.loads((line[2] or '""').replace("''", "'"))
        return "", ""


Attach = Callable[["OpenTab"], Coroutine[Any, Any, "CDPSession"]]


async def _read_error(tab: OpenTab, attach: Attach, limit_s: float) -> PageError | None:
    url, status, why = tab.page.url, None, ""
    if url.startswith("chrome-error:"):
        url, code = tab.unloaded
        if not url:
            return None
        why = describe_unloaded(url, code).rstrip(".")
    else:
        # The page is asked: to be told of each answer would cost every file of every page an event.
        try:
            status = await ask_apart(tab.page, _STATUS, limit_s=limit_s)
        except ApartError:
            return None
        if not 400 <= status <= 599:
            return None
    history = await (await attach(tab)).send("Page.getNavigationHistory")
    entry = history["entries"][history["currentIndex"]]
    if entry["transitionType"] == "reload":
        is_own = tab.error is not None and tab.error.is_own  # a page that was there before is the site's
    else:
        # Of a page that did not load, Chromium keeps no address that was typed.
        is_own = entry["transitionType"] == "typed" and (bool(why) or entry["userTypedURL"] == entry["url"])
    return PageError(shorten(url), status, is_own, why)


class Tabs:
    """The open tabs of a window, in the order in which they were opened.

    Args:
        most: how many may be open; further ones are closed at once.
        notes: takes tabs that close or crash, and what was not loaded.
        background: where answers to the browser are awaited.
        allowed: what may be loaded.
        behind: the filter that all traffic goes through; None where everything is allowed.
        opened: called with every tab that opens, to listen to its page and attach to it.
    """

    def __init__(
        self,
        most: int,
        notes: Notes,
        background: DialogWatch,
        *,
        allowed: AllowedOrigins,
        behind: OriginFilter | None,
        opened: Callable[[OpenTab], None],
    ) -> None:
        self.open: list[OpenTab] = []
        self.current: OpenTab | None = None
        """The tab that tools act on."""
        self.fresh: list[OpenTab] = []
        """Those that pages opened and the agent does not know of yet."""
        self.expected = 0
        """How many have begun to open, with no page to be seen yet."""
        self.arrived = asyncio.Event()
        """Set when an expected one has opened."""
        self.spare = 0
        """How many more may be open for a moment, while one takes the place of another."""
        self.snapshot: OpenTab | None = None
        """The tab that the latest snapshot is of: refs belong to it."""
        self._most = most
        self._notes = notes
        self._background = background
        self._allowed = allowed
        self._refused = ""
        """What the filter has refused last, until a page shows that it failed."""
        if behind is not None:
            behind.on_refused, behind.on_unreachable = self._on_refused, notes.warn
        self._opened = opened
        self._last_id = 0
        self._downloaded = 0.0

    def get(self, tab_id: int | None = None) -> OpenTab:
        """Return the tab of that number, or the current one.

        Raises:
            NoTab: there is none.
        """
        if tab_id is None:
            if self.current is None:
                raise NoTab("No tab is open. Call open_tab.")
            return self.current
        for tab in self.open:
            if tab.tab_id == tab_id:
                return tab
        ids = ", ".join(str(tab.tab_id) for tab in self.open)
        raise NoTab(f"There is no tab {tab_id}. Open tabs: {ids or 'none'}.")

    def of(self, page: Page) -> OpenTab | None:
        """Return the tab of a page, if it is open."""
        return next((tab for tab in self.open if tab.page is page), None)

    def expect(self) -> None:
        """A page has opened another one, of which Playwright tells when it has an answer."""
        self.expected += 1
        self.arrived.clear()

    def on_page(self, page: Page) -> None:
        """Give a page that has opened a number; it becomes current when the agent hears of it."""
        self.expected = max(0, self.expected - 1)
        self.arrived.set()
        if len(self.open) >= self._most + self.spare:
            flood = f"More than {self._most} tabs were opened; further ones were closed at once."
            self._notes.say(f"Warning: {flood}")
            self._notes.warn(flood)
            self._background.spawn(page.close())
            return
        self._last_id += 1
        tab = OpenTab(self._last_id, page)
        self.open.append(tab)
        self.fresh.append(tab)
        # Only the first: which tab is current changes at the end of a call, in `promote`.
        self.current = self.current or tab
        page.on("load", self.on_loaded)
        page.on("close", self._on_close)
        page.on("crash", self._on_crash)
        page.on("requestfailed", self._on_failed)
        page.on("download", self._on_download)
        self._opened(tab)

    def on_navigated(self, frame: Frame) -> None:
        """Remember that a tab's page has changed its address; leave one again that is not allowed."""
        # The filter sees hosts only: that a page failed for it shows here.
        if self._refused and frame.url.startswith("chrome-error:"):
            self._notes.say(self._warn_of(self._refused))
            self._refused = ""
        if not self._allowed.allow(frame.url):
            self._notes.say(self._warn_of(frame.url))
            self._background.spawn(frame.goto("about:blank"))
        if frame.parent_frame is None and (tab := self.of(frame.page)):
            tab.is_parsed = False
            tab.loaded.clear()
            tab.navigated.set()
            if tab.error is not None:  # the page before may be shown again, without another document
                tab.is_answered = False

    def _on_refused(self, url: str) -> None:
        self._refused = url
        self._warn_of(url)

    def _warn_of(self, url: str) -> str:
        place = origin_of(url) if "://" in url else url
        text = f"{shorten(place)} was blocked: it is not among the allowed origins."
        self._notes.warn(text)
        return text

    def on_document(self, page: Page) -> None:
        """Remember that a tab has another document."""
        if tab := self.of(page):
            tab.is_answered, tab.is_parsed = False, True

    def on_loaded(self, page: Page) -> None:
        """Remember that the document of a tab has loaded; of one that has gone, nothing is waited for."""
        if tab := self.of(page):
            tab.loaded.set()

    def take_response(self, tab: OpenTab, response: Response | None) -> None:
        """Note how the address that a tab was sent to was answered, if it is there still."""
        if response is not None and response.url == tab.page.url.partition("#")[0]:
            is_own = response.request.redirected_from is None
            error = PageError(shorten(response.url), response.status, is_own)
            self._take_answer(tab, error if response.status >= 400 else None)

    async def load(self, tab: OpenTab, limit_s: float, answer_s: float) -> None:
        """Wait until the document of a tab has loaded, but not again for one that has not in time.

        Args:
            tab: it has another address, or is new.
            limit_s: how long to wait.
            answer_s: how long a page that hangs is waited for.
        """
        page = tab.page
        if tab.late is not None and await quietly(page.evaluate(_BEGAN), answer_s) == tab.late:
            return  # the same document: a page that routes by its history has given it another address
        tab.late = None
        try:
            async with asyncio.timeout(limit_s):
                # The driver is asked where only it knows: after a change of the address alone.
                await (
                    tab.loaded.wait() if tab.is_parsed else page.wait_for_load_state(timeout=limit_s * 1000)
                )
        except (TimeoutError, playwright_error()):
            if found := await quietly(page.evaluate(_LOADING), answer_s):
                tab.late, address = found
                self._notes.say(f"The page is still loading{address and f': {shorten(address, 100)}'}.")

    async def ask_answer(self, tab: OpenTab, attach: Attach, limit_s: float) -> None:
        """Find out how the document of a tab was answered, if that is not known; never raises.

        Args:
            tab: it has no dialog open.
            attach: returns the session to a tab.
            limit_s: how long a page that hangs is waited for.
        """
        if not tab.is_answered:
            self._take_answer(tab, await quietly(_read_error(tab, attach, limit_s), limit_s))

    def take_error(self, tab_id: int, error: PageError) -> None:
        """Note that a tab shows something else than the page."""
        for tab in self.open:
            if tab.tab_id == tab_id:
                self._take_answer(tab, error)

    def _take_answer(self, tab: OpenTab, error: PageError | None) -> None:
        tab.is_answered, tab.error = True, error
        if error is not None:
            self._notes.say(f"{error}.")
            self._notes.warn(str(error))

    def forget(self, tab: OpenTab) -> None:
        """Drop a tab; if it was the current one, the last one that is left becomes current."""
        self.open.remove(tab)
        self.mark_known(tab)
        if self.current is tab:
            self.current = self.open[-1] if self.open else None

    def promote(self) -> None:
        """Make the last tab that pages have opened the current one.

        At the end of a call, never between two: an agent's next action is meant for the tab it saw. One that
        was opened for a download is closed, as a browser that people use does.
        """
        if time.monotonic() - self._downloaded < _DOWNLOAD_S:
            for tab in [one for one in self.fresh if not one.page.url]:
                self.forget(tab)
                self._background.spawn(tab.page.close())
        if self.fresh:
            self.current = self.fresh[-1]

    async def tell_fresh(self, limit_s: float) -> None:
        """Tell the agent of the tabs that pages have opened; a title is waited for within a limit."""
        self.promote()
        fresh, self.fresh = self.fresh, []
        for tab in fresh:
            title = shorten(await read_title(tab.page, limit_s), 60)
            is_current = "; it is the current tab" if tab is self.current else ""
            self._notes.say(
                f"A new tab opened: tab {tab.tab_id} {title!r} ({shorten(tab.page.url)}){is_current}."
            )

    def check_ref(self, ref: str) -> None:
        """Refuse a ref of another tab's snapshot: each page counts its own, and they look the same.

        Raises:
            NoTab: the latest snapshot is not of the current tab.
        """
        current = self.get()
        if self.snapshot is None:
            raise NoTab(f"{ref} belongs to no snapshot of this page. Call snapshot to get refs.")
        if self.snapshot is not current:
            raise NoTab(
                f"{ref} is from the snapshot of tab {self.snapshot.tab_id}; tab {current.tab_id} is current. "
                "Call snapshot to get its refs."
            )

    def note_snapshot(self, tab: OpenTab, tree: str) -> str:
        """Remember the latest snapshot, and return it."""
        self.snapshot = tab
        tab.trees.append(tree)
        return tree

    def mark_known(self, tab: OpenTab) -> None:
        """The agent knows of the tab."""
        self.fresh = [fresh for fresh in self.fresh if fresh is not tab]

    def replace(self, tab: OpenTab, page: Page) -> Page:
        """Let a tab go on with the page of another one, which vanishes; return the page it had."""
        other = self.get(next(new.tab_id for new in self.open if new.page is page))
        self.open.remove(other)
        self.mark_known(other)
        # The number of the page that vanishes is free again: agents never saw it.
        self._last_id -= other.tab_id == self._last_id
        old, tab.page, tab.session = tab.page, other.page, other.session
        tab.is_crashed = tab.is_stuck = tab.is_answered = tab.is_parsed = False
        self.snapshot = None
        self.current = tab
        return old

    def clear(self) -> None:
        """Drop all."""
        self.open.clear()
        self.fresh.clear()
        self.current = None

    def _on_close(self, page: Page) -> None:
        self.on_loaded(page)
        if tab := self.of(page):
            self.forget(tab)
            left = f"tab {self.current.tab_id} is the current tab" if self.current else "no tab is open"
            self._notes.say(f"Tab {tab.tab_id} was closed by the page; {left}.")

    def _on_failed(self, request: Request) -> None:
        # A navigation by a click or a script: Chromium shows a page of its own, without the reason.
        code = (request.failure or "").removeprefix("net::")
        if not request.is_navigation_request() or code in _TOLD_ELSEWHERE:
            return
        if not self._allowed.allow(request.url):
            return
        with suppress(playwright_error()):  # the frame is not there yet
            if request.frame.parent_frame is None and (tab := self.of(request.frame.page)):
                tab.unloaded = (request.url, code)
                self._notes.say(describe_unloaded(request.url, code))

    def _on_download(self, download: Download) -> None:
        self._downloaded = time.monotonic()

    def _on_crash(self, page: Page) -> None:
        if tab := self.of(page):
            tab.is_crashed = True
            tab.loaded.set()
            self._notes.say(f"Tab {tab.tab_id} crashed. Call reload or navigate to load it again.")
            self._notes.warn(f"the page {shorten(page.url)} crashed")


async def notice(session: CDPSession, at_work: Callable[[], None]) -> None:
    """Call a function whenever someone clicks, types or scrolls in a page.

    A program of another process is at work there: no call of ours tells in which tab it clicks.

    Args:
        session: of the page.
        at_work: quick, and raises nothing.
    """

    def on_called(event: dict[str, Any]) -> None:
        if event["name"] == _BINDING:
            at_work()

    session.on("Runtime.bindingCalled", on_called)
    await session.send("Runtime.enable")
    await session.send("Runtime.addBinding", {"name": _BINDING, "executionContextName": _WORLD})
    script = {"source": _LISTEN, "worldName": _WORLD, "runImmediately": True}
    await session.send("Page.addScriptToEvaluateOnNewDocument", script)
