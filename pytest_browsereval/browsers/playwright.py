"""The ``playwright`` browser: one Chromium per process, a fresh context per attempt."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from pydantic import BaseModel, ConfigDict, Field, field_validator

from pytest_browsereval.browsers.base import Browser, BrowserConfig, WindowRequest
from pytest_browsereval.browsers.binary import Binary, candidates, launch_first, start_driver
from pytest_browsereval.browsers.origins import AllowedOrigins, shorten
from pytest_browsereval.browsers.waiting import DialogOpened, is_closed_error, is_playwright_error, quietly
from pytest_browsereval.browsers.windows import PlaywrightWindow, WindowEvents, WindowRules
from pytest_browsereval.errors import ConfigError, ErrorSource, Fault, nearest

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import Playwright

OPEN_S = 30.0
"""How long a window may take to open, before its start page."""
END_S = 10.0
"""How long a browser may take to end."""
START_SCHEMES = ("http", "https", "about", "data")

_closing: set[asyncio.Future[None]] = set()
"""Keeps tasks that nobody awaits from being collected."""


class Viewport(BaseModel):
    """The size of a page in CSS pixels."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    width: int = Field(default=1280, ge=1)
    """CSS pixels from left to right."""
    height: int = Field(default=720, ge=1)
    """CSS pixels from top to bottom."""


class PlaywrightBrowserConfig(BrowserConfig):
    """A Chromium of our own, driven by Playwright."""

    type: Literal["playwright"] = "playwright"
    headless: bool = True
    """False shows the windows, which needs a display and a full Chromium."""
    binary: str | None = None
    """Path or name of the browser; by default the best one on this machine is looked for."""
    args: tuple[str, ...] = ()
    """More command-line switches for the browser."""
    viewport: Viewport = Viewport()
    """The size of every page, in CSS pixels."""
    device_scale_factor: float = Field(default=1.0, gt=0, le=8)
    """Device pixels per CSS pixel, as pages see it; pictures stay in CSS pixels."""
    locale: str | None = None
    """Language of pages and formats, ``de-DE`` for example; by default the machine's."""
    timezone: str | None = None
    """Time zone of pages, ``Europe/Berlin`` for example; by default the machine's."""
    storage_state: Path | None = None
    """Cookies and local storage to begin with, as Playwright's ``storage_state`` writes them."""
    allowed_origins: tuple[str, ...] = ()
    """Patterns such as ``https://shop.example``, ``*.example.com``, ``http://127.0.0.1:*``. Requests to
    other origins are aborted. The start page's own origin is always allowed; empty allows all."""
    har: None = None
    """Recording of network traffic; not supported yet."""
    navigation_timeout_ms: float = Field(default=30_000, gt=0)
    """How long a navigation may take."""
    action_timeout_ms: float = Field(default=5_000, gt=0)
    """How long an action waits until its element can be used."""

    @field_validator("har", mode="before")
    @classmethod
    def _no_har(cls, value: object) -> None:
        if value not in (None, False):
            raise ValueError(f"har is {value!r}, which is not supported yet. Leave har out.")

    @field_validator("allowed_origins")
    @classmethod
    def _origins_parse(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        AllowedOrigins.parse(value)
        return value

    @field_validator("timezone")
    @classmethod
    def _timezone_exists(cls, value: str | None) -> str | None:
        known = available_timezones()
        if value is not None and known and value not in known:
            raise ValueError(
                f"{value!r} is no time zone.{nearest(value, known)} Write one such as 'Europe/Berlin'."
            )
        return value

    def prepared(self, base_dir: Path) -> Self:
        """Return the block with its paths absolute.

        Raises:
            ConfigError: the named browser cannot be meant, or there is no stored state.
        """
        if self.binary is not None:
            candidates(self.binary, headed=not self.headless)
        if self.storage_state is None:
            return self
        state = base_dir / self.storage_state
        if not state.is_file():
            raise ConfigError(
                f"browser.storage_state is {str(self.storage_state)!r}, and there is no file {state}. "
                "Write one by Playwright's context.storage_state(path=...), or leave storage_state out."
            )
        return self.model_copy(update={"storage_state": state})

    def build(self) -> PlaywrightBrowser:
        """Return the browser, not started yet."""
        return PlaywrightBrowser(self)

    def rules(self, start_url: str | None) -> WindowRules:
        """Return the limits of a window that starts at the URL."""
        return WindowRules(
            allowed=AllowedOrigins.parse(self.allowed_origins).also(start_url),
            action_s=self.action_timeout_ms / 1000,
            navigation_s=self.navigation_timeout_ms / 1000,
        )

    def context_options(self) -> dict[str, Any]:
        """Return the keyword arguments for Playwright's ``new_context``."""
        options: dict[str, Any] = {
            "viewport": self.viewport.model_dump(),
            "device_scale_factor": self.device_scale_factor,
            "locale": self.locale,
            "timezone_id": self.timezone,
            "storage_state": self.storage_state,
            # A service worker's own requests do not pass through the check of origins.
            "service_workers": "block" if self.allowed_origins else None,
        }
        return {name: value for name, value in options.items() if value is not None}


class Process:
    """One launched browser with its driver, and the windows that are open in it."""

    def __init__(self, driver: Playwright, browser: Chromium, binary: Binary) -> None:
        self.driver = driver
        self.browser = browser
        self.binary = binary
        self.is_retired = False
        """True: it serves the windows that it has, and ends with the last of them."""
        self._windows: set[PlaywrightWindow] = set()
        self._by_target: dict[str, PlaywrightWindow] = {}
        self._ending: asyncio.Task[None] | None = None
        browser.on("disconnected", lambda _: self._on_disconnected())

    @classmethod
    async def launch(cls, config: PlaywrightBrowserConfig) -> Process:
        """Start a driver and a browser.

        Raises:
            StopRun: source *browser*; the message tells what to type next.
            ConfigError: the named browser cannot be meant.
        """
        headed = not config.headless
        choice = candidates(config.binary, headed=headed)
        driver = await start_driver()
        try:
            browser, binary = await launch_first(
                driver.chromium,
                choice,
                headed=headed,
                args=list(config.args),
                handle_sigint=False,  # Ctrl-C is pytest's to handle
                handle_sigterm=False,
                handle_sighup=False,
            )
            process = cls(driver, browser, binary)
            session = await browser.new_browser_cdp_session()
            session.on("Target.targetCreated", process._on_target)
            pages = {"discover": True, "filter": [{"type": "page"}]}
            await session.send("Target.setDiscoverTargets", pages)
        except BaseException:
            await quietly(driver.stop(), END_S)
            raise
        return process

    @property
    def is_alive(self) -> bool:
        """True while the browser runs and has not been given up."""
        return self.browser.is_connected() and not self.is_retired

    def _on_disconnected(self) -> None:
        for window in self._windows:
            window.mark_dead(f"The browser ended unexpectedly: {self.binary}.")

    def _on_target(self, event: dict[str, Any]) -> None:
        # Playwright tells of a new page only once its first response is there; this comes at once.
        opener = self._by_target.get(event["targetInfo"].get("openerId", ""))
        if opener is not None:
            opener.expect_tab()

    async def new_window(self, options: dict[str, Any], rules: WindowRules) -> PlaywrightWindow:
        """Open an isolated window with one empty tab."""
        context = await self.browser.new_context(**options)
        window = PlaywrightWindow(context, rules, WindowEvents(self._by_target.__setitem__, self._on_closed))
        self._windows.add(window)
        try:
            await window.open()
        except BaseException:
            await window.close()
            raise
        return window

    def _on_closed(self, window: PlaywrightWindow, in_time: bool) -> None:  # noqa: FBT001 -- an event
        self._windows.discard(window)
        # In place: the windows that are open write into this very mapping.
        for target in [key for key, value in self._by_target.items() if value is window]:
            del self._by_target[target]
        if not in_time:
            self.is_retired = True
        if self.is_retired and not self._windows and self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self.end())

    async def end(self) -> None:
        """End the browser and its driver."""
        self.is_retired = True
        for window in list(self._windows):
            await window.close()
        await quietly(self.browser.close(), END_S)
        await quietly(self.driver.stop(), END_S)


class PlaywrightBrowser(Browser):
    """One Chromium, launched again when it has died; every window is a fresh context."""

    def __init__(self, config: PlaywrightBrowserConfig) -> None:
        self.config = config
        self.launches = 0
        """How often a browser was started; more than 1 after one has died."""
        self._processes: list[Process] = []
        self._lock = asyncio.Lock()
        self._is_closed = False

    @property
    def _process(self) -> Process | None:
        return self._processes[-1] if self._processes else None

    @property
    def description(self) -> str:
        """Name, version and binary; empty before ``start``."""
        return str(self._process.binary) if self._process else ""

    @property
    def is_alive(self) -> bool:
        """False once the browser has died or has been closed."""
        return self._process is not None and self._process.is_alive

    async def start(self) -> None:
        """Launch the browser.

        Raises:
            StopRun: source *browser*; the message tells what to type next.
            ConfigError: the named browser cannot be meant.
        """
        await self._living()

    async def _living(self) -> Process:
        async with self._lock:
            process = self._process
            if self._is_closed:
                raise Fault(ErrorSource.BROWSER, "The browser has been closed.")
            if process is None or not process.is_alive:
                dead = [old for old in self._processes if not old.browser.is_connected()]
                process = await Process.launch(self.config)
                self.launches += 1
                self._processes = [old for old in self._processes if old not in dead] + [process]
                for old in dead:
                    await old.end()
            return process

    async def open_window(self, request: WindowRequest) -> PlaywrightWindow:
        """Open an isolated window at its start page; a browser that has died is launched again.

        Raises:
            Fault: source *window_creation* or *navigation*; nothing is left open.
        """
        window = await self._new_window(request)
        try:
            await _go_to_start(window, request)
        except BaseException:
            await window.close()
            raise
        return window

    async def _new_window(self, request: WindowRequest) -> PlaywrightWindow:
        options, rules = self.config.context_options(), self.config.rules(request.start_url)
        reason = ""
        for _ in range(2):
            process = await self._living()
            try:
                return await _in_full(process.new_window(options, rules), OPEN_S)
            except TimeoutError:
                process.is_retired = True
                reason = f"it took longer than {OPEN_S:g} s"
            except OSError as error:  # the file of the storage state
                reason = str(error)
                break
            except Exception as error:
                if not is_playwright_error(error):
                    raise
                reason = shorten(str(error), 300)
                if process.is_alive and not is_closed_error(error):
                    break
                process.is_retired = True
        raise Fault(ErrorSource.WINDOW_CREATION, f"No window could be opened: {reason}")

    async def close(self) -> None:
        """End the browser and all its windows; never raises."""
        self._is_closed = True
        processes, self._processes = self._processes, []
        for process in processes:
            await process.end()


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


async def _go_to_start(window: PlaywrightWindow, request: WindowRequest) -> None:
    url, limit_s = request.start_url, window.rules.navigation_s + window.rules.load_s
    if url and urlsplit(url).scheme not in START_SCHEMES:
        raise Fault(
            ErrorSource.NAVIGATION,
            f"start_url is {url!r}. Allowed: {', '.join(START_SCHEMES)}. Serve files by a site: "
            "`sites: {name: {static: FOLDER}}` and `{name}/page.html`.",
        )
    try:
        if url:
            await window.watch(_load(window, url), limit_s)
        if request.setup_script:
            await window.watch(_set_up(window, request.setup_script), limit_s)
    except DialogOpened:
        return  # the agent's to answer, as any other
    except TimeoutError:
        raise Fault(ErrorSource.NAVIGATION, f"{url} did not answer within {limit_s:g} s.") from None
    except Exception as error:
        if not is_playwright_error(error):
            raise
        if window.dead:
            raise Fault(ErrorSource.BROWSER, window.dead) from error
        raise Fault(ErrorSource.NAVIGATION, f"{url}: {_plainly(error)}") from error


def _plainly(error: Exception) -> str:
    """Return what went wrong without Playwright's names and its log."""
    said, _, _ = str(error).partition("\nCall log:")
    return shorten(re.sub(r"^\w+\.\w+: ", "", said), 300)


async def _load(window: PlaywrightWindow, url: str) -> None:
    response = await window.goto(url)
    await window.settle()
    if response is not None and response.status >= 400:
        status = f"HTTP {response.status} {response.status_text}".strip()
        raise Fault(ErrorSource.NAVIGATION, f"The start page {url} answered {status}.")


async def _set_up(window: PlaywrightWindow, script: str) -> None:
    try:
        await window.page.evaluate(script)
    except Exception as error:
        if not is_playwright_error(error) or window.dead:
            raise
        why = f"The setup_script of {window.url} failed: {_plainly(error)}"
        raise Fault(ErrorSource.NAVIGATION, why) from error
    await window.settle()
