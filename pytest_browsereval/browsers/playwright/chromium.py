"""Connections to a Chromium, and a browser that is connected to again when it has gone."""

from __future__ import annotations

import asyncio
import os
from abc import abstractmethod
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.base import Browser, WindowRequest
from pytest_browsereval.browsers.driver import END_S, stop_driver
from pytest_browsereval.browsers.origin_filter import OriginFilter
from pytest_browsereval.browsers.playwright.clipboard import SharedClipboard
from pytest_browsereval.browsers.playwright.context_options import describe_options
from pytest_browsereval.browsers.playwright.contexts import PageOptions
from pytest_browsereval.browsers.playwright.origins import AllowedOrigins, shorten
from pytest_browsereval.browsers.playwright.place import Place, WindowRules
from pytest_browsereval.browsers.playwright.starting import go_to_start
from pytest_browsereval.browsers.playwright.waiting import is_closed_error, playwright_error, quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.model.clock import resolve_clock

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import CDPSession, Playwright

OPEN_S = 30.0
"""How long a window may take to open, before its start page."""
CLOSE_S = 2.0
"""How long a page may take to close that no window has as a tab."""
HAR_CLOSE_S = 30.0
"""How long a window may take to close whose traffic is recorded: it is written then."""

AT_ONCE = max(4, os.cpu_count() or 1)
"""How many windows of a browser are opened at once, before their start pages. To open one is work for the
CPU: were all lanes to begin together, those that are at work already would see pages that do not answer."""

_closing: set[asyncio.Future[None]] = set()
"""Keeps tasks that nobody awaits from being collected."""


class Connection:
    """A Chromium with the driver that it is reached by, and the windows that are open in it.

    Args:
        driver: Playwright's; it ends with the connection.
        browser: launched or attached to; it is closed with the connection, which ends one that we launched.
        name: what the header and the manifest call it.
        lost: what is said of its windows once it has gone.
    """

    def __init__(self, driver: Playwright, browser: Chromium, *, name: str, lost: str) -> None:
        self.driver = driver
        self.devices = driver.devices  # which Playwright copies each time
        self.browser = browser
        self.name = name
        self.is_retired = False
        """True: it serves the windows that it has, and ends with the last of them."""
        self.is_lent = False
        """True: it is there for one window, which is not closed before it has ended."""
        self.origins: OriginFilter | None = None
        """Of one that is lent: what all of its traffic goes through."""
        self.has_ended = False
        self._lost = lost
        self._windows: set[PlaywrightWindow] = set()
        self.by_target: dict[str, PlaywrightWindow] = {}
        """The window of each page, by the page's target id."""
        self.clipboard = SharedClipboard(browser)
        self._session: CDPSession | None = None
        self._ending: asyncio.Task[None] | None = None
        browser.on("disconnected", lambda _: self._on_disconnected())

    async def listen(self) -> None:
        """Begin to hear of pages that open."""
        session = self._session = await self.browser.new_browser_cdp_session()
        session.on("Target.targetCreated", self._on_target)
        session.on("Target.targetDestroyed", self._on_target_gone)
        pages = {"discover": True, "filter": [{"type": "page"}]}
        await session.send("Target.setDiscoverTargets", pages)

    @property
    def is_alive(self) -> bool:
        """True while the browser can be reached and has not been given up."""
        return self.browser.is_connected() and not self.is_retired

    def _on_disconnected(self) -> None:
        for window in self._windows:
            window.mark_dead(self._lost)

    def _on_target(self, event: dict[str, Any]) -> None:
        # Playwright tells of a new page only once its first response is there; this comes at once.
        target = event["targetInfo"]
        opener = self.by_target.get(target.get("openerId", ""))
        if opener is not None:
            opener.expect_tab()
            self.by_target[target["targetId"]] = opener

    def _on_target_gone(self, event: dict[str, Any]) -> None:
        self.by_target.pop(event["targetId"], None)

    async def new_window(self, options: dict[str, Any], rules: WindowRules) -> PlaywrightWindow:
        """Open an isolated window with one empty tab."""
        async with filter_traffic(rules.allowed) as origins:
            context = await self.browser.new_context(**options, **(origins.options if origins else {}))
        return await self.window_in(Place(context, origins=origins), rules)

    async def window_in(self, place: Place, rules: WindowRules) -> PlaywrightWindow:
        """Open a window in a context that is there."""
        window = PlaywrightWindow(place, rules, self)
        self._windows.add(window)
        try:
            await window.open()
        except BaseException:
            await window.close()
            raise
        return window

    async def on_closed(self, window: PlaywrightWindow, *, in_time: bool) -> None:
        """Forget a window that has closed, or that could not be closed in time."""
        self._windows.discard(window)
        self.clipboard.forget(window)
        if window.place.origins is not None:
            await window.place.origins.close()
        # In place: the windows that are open write into this very mapping.
        targets = [key for key, value in self.by_target.items() if value is window]
        for target in targets:
            del self.by_target[target]
        if window.place.is_guest and in_time and self._session is not None:
            # A page that never got an answer is known by its target only, and would stay.
            closing = (self._session.send("Target.closeTarget", {"targetId": one}) for one in targets)
            await asyncio.gather(*(quietly(one, CLOSE_S) for one in closing))
        if not in_time:
            self.is_retired = True
        # The last window is gone: nobody else would end the browser.
        if self.is_retired and not self._windows and self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self.end())
        if self.is_lent and self._ending is not None:
            await asyncio.shield(self._ending)

    async def end(self) -> None:
        """Close the windows, the browser or the connection to it, and the driver."""
        self.is_retired = True
        for window in list(self._windows):
            await window.close()
        await quietly(self.browser.close(), END_S)
        await stop_driver(self.driver)
        self.has_ended = True


@asynccontextmanager
async def filter_traffic(allowed: AllowedOrigins) -> AsyncIterator[OriginFilter | None]:
    """Give the filter that traffic goes through; None where everything is allowed.

    It outlives the block, which puts it in front of a context, unless that fails.
    """
    origins = await OriginFilter(allowed).start() if allowed else None
    try:
        yield origins
    except BaseException:
        if origins is not None:
            await origins.close()
        raise


class ChromiumBrowser(Browser):
    """Windows in one Chromium, which is connected to again when it has gone.

    Args:
        config: what its windows are like.
    """

    def __init__(self, config: PageOptions) -> None:
        self.config = config
        self._connections: list[Connection] = []
        self._lent: list[Connection] = []
        """Those that are there for one window each."""
        self._lock = asyncio.Lock()
        # Opening only: an attempt that goes to its start page waits for the network.
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._is_closed = False

    @abstractmethod
    async def _connect(self) -> Connection:
        """Return a new connection.

        Raises:
            StopRun: source *browser*; the message tells what to type next.
            ConfigError: the browser cannot be meant.
        """

    def _options(self, request: WindowRequest, devices: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
        """Return the keyword arguments for the window's context."""
        options = self.config.context_options(request, devices)
        if request.har is not None:
            # Attached: with no content at all, what was sent would not be recorded either.
            recording = {"path": request.har, "content": "attach", "mode": "full"}
            options |= {f"record_har_{name}": value for name, value in recording.items()}
        if request.answers is not None:
            options["service_workers"] = "block"  # nobody sees what they ask for
        return options

    def _rules(self, request: WindowRequest) -> WindowRules:
        rules = self.config.rules(request.start_url)
        return rules if request.har is None else replace(rules, close_s=HAR_CLOSE_S)

    async def _serving(self, request: WindowRequest) -> Connection:
        """Return the connection that the window is opened by."""
        del request
        return await self._living()

    async def _window(
        self, connection: Connection, request: WindowRequest, rules: WindowRules
    ) -> PlaywrightWindow:
        """Open a window with an empty tab."""
        return await connection.new_window(self._options(request, connection.devices), rules)

    @property
    def _connection(self) -> Connection | None:
        return self._connections[-1] if self._connections else None

    @property
    def description(self) -> str:
        """Name, version and binary or address; empty before ``start``."""
        return self._connection.name if self._connection else ""

    async def start(self) -> None:
        """Launch the browser, or attach to it.

        Raises:
            StopRun: source *browser*; the message tells what to type next.
            ConfigError: the named browser cannot be meant.
        """
        await self._living()

    async def _living(self) -> Connection:
        async with self._lock:
            connection = self._connection
            if self._is_closed:
                raise Fault(ErrorSource.BROWSER, "The browser has been closed.")
            if connection is None or not connection.is_alive:
                # A retired browser that lives still serves its windows.
                dead = [old for old in self._connections if not old.browser.is_connected()]
                connection = await self._connect()
                self._connections = [old for old in self._connections if old not in dead] + [connection]
                for old in dead:
                    await old.end()
            return connection

    async def open_window(self, request: WindowRequest) -> PlaywrightWindow:
        """Open a window at its start page; a browser that has gone is connected to again.

        Raises:
            Fault: source *window_creation* or *navigation*; nothing is left open.
        """
        window = await self._new_window(request)
        window.conditions = tuple(describe_options(self.config.context, request.context))
        try:
            if request.clock is not None:
                zone = {**self.config.context, **request.context}.get("timezone_id")
                # Not a fixed time: pages wait by their timers, which run on.
                await window.context.clock.install(time=(now := resolve_clock(request.clock, zone)))
                window.conditions += (f"clock={now.isoformat()}",)
            if request.answers is not None:
                await request.answers(window.context)
            if request.opened is not None:
                await request.opened(window)
            await go_to_start(window, request)
        except BaseException:
            await window.close()
            raise
        return window

    async def _new_window(self, request: WindowRequest) -> PlaywrightWindow:
        rules = self._rules(request)
        reason = ""
        async with self._turns:  # the time of those in front does not count as its own
            # Once more: the browser may have died since it was asked for, and is launched again then.
            for _ in range(2):
                connection = await self._serving(request)
                try:
                    return await _in_full(self._window(connection, request, rules), OPEN_S)
                except TimeoutError:
                    connection.is_retired = True
                    reason = f"it took longer than {OPEN_S:g} s"
                except OSError as error:  # the file of the storage state
                    reason = str(error)
                    break
                except playwright_error() as error:
                    reason = shorten(str(error), 300)
                    if connection.is_alive and not is_closed_error(error):
                        break
                    connection.is_retired = True
        raise Fault(ErrorSource.WINDOW_CREATION, f"No window could be opened: {reason}")

    async def close(self) -> None:
        """End the browser, or leave it, and all its windows; never raises."""
        self._is_closed = True
        connections, self._connections = [*self._connections, *self._lent], []
        for connection in connections:
            await connection.end()


async def _in_full(opening: Coroutine[Any, Any, PlaywrightWindow], limit_s: float) -> PlaywrightWindow:
    """Await a window; one that opens after the caller has been cancelled is closed again."""
    task = asyncio.ensure_future(opening)
    try:
        return await asyncio.wait_for(asyncio.shield(task), limit_s)
    except BaseException:
        task.add_done_callback(_close_late)
        raise


def _close_late(opening: asyncio.Future[PlaywrightWindow]) -> None:
    if not opening.cancelled() and opening.exception() is None:
        closing = asyncio.ensure_future(opening.result().close())
        _closing.add(closing)
        closing.add_done_callback(_closing.discard)
