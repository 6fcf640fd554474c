"""The ``cdp`` browser: one that is already running, attached to by its debugging port and never ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from pytest_browsereval.browsers.base import Survey, WindowRequest
from pytest_browsereval.browsers.driver import start_driver, stop_driver
from pytest_browsereval.browsers.playwright.chromium import ChromiumBrowser, Connection
from pytest_browsereval.browsers.playwright.contexts import DEFAULT_VIEWPORT, PageOptions
from pytest_browsereval.browsers.playwright.place import Place, WindowRules
from pytest_browsereval.browsers.playwright.starting import plainly
from pytest_browsereval.browsers.playwright.waiting import is_closed_error, playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ConfigError, ErrorSource, Fault, StopRun
from pytest_browsereval.features.cdp_browser.endpoint import HOW_TO_LISTEN, DevToolsUrl, NoEndpoint

if TYPE_CHECKING:
    from playwright.async_api import Browser as Chromium
    from playwright.async_api import Playwright

NO_CDP = (
    "the agent's own program works in the browser's first context, but attempts have their own. "
    "Write `browser: {type: cdp, url: ..., sessions: shared}` for one attempt at a time in that context, or "
    "`browser: {type: playwright}` for a browser of each attempt's own."
)
_OWN = (
    "or give attempts contexts of their own: `browser: {type: cdp, url: ..., sessions: isolated}` or "
    "`browser: {type: playwright}`."
)
NO_HAR = (
    "the network traffic of attempts that share an existing context cannot be recorded. Leave "
    f"out what needs it, {_OWN}"
)
NO_TRACE = (
    "capture.trace is on, and attempts share an existing context: its other pages would be "
    f"recorded as well. Leave trace out, {_OWN}"
)


class CdpBrowserConfig(PageOptions):
    """A Chromium or BrowserOS that is already running, driven over the DevTools protocol."""

    type: Literal["cdp"] = "cdp"
    url: str
    """Where it listens: ``http://127.0.0.1:9222``, or the ``ws://`` address that it prints."""
    sessions: Literal["isolated", "shared"] | None = None
    """``isolated``: a fresh context for each attempt. ``shared``: the browser's default one, with its cookies
    and logins, for one attempt at a time. By default isolated ones where the browser allows them."""
    connect_timeout_ms: float = Field(default=10_000, gt=0)
    """How long the browser may take to answer."""

    @model_validator(mode="before")
    @classmethod
    def _is_not_launched(cls, block: Any) -> Any:
        options = ("headless", "binary", "args")
        if given := [name for name in options if isinstance(block, Mapping) and name in block]:
            raise ValueError(
                f"{', '.join(given)}: only a browser that this run launches has these options, and this one "
                "is already running. Leave them out; --eval-headed sets headless."
            )
        return block

    @field_validator("url")
    @classmethod
    def _url_is_an_address(cls, value: str) -> str:
        return DevToolsUrl.parse(value).text

    @model_validator(mode="after")
    def _takes_its_options(self) -> Self:
        if self.sessions == "shared" and (why := self.unshareable()):
            raise ValueError(f"sessions is 'shared', and {why}")
        if self.allowed_origins and not self.endpoint.is_local:
            raise ValueError(
                f"the browser at {self.endpoint} does not reach this machine's loopback, where the filter of "
                "allowed_origins listens. Leave allowed_origins out, or start pytest where the browser runs."
            )
        return self

    @property
    def endpoint(self) -> DevToolsUrl:
        """The address, checked."""
        return DevToolsUrl(self.url)

    def secrets(self) -> tuple[str, ...]:
        """Return the parts of the address that let anybody in, and what its windows know."""
        return (*self.endpoint.secrets(), *super().secrets())

    def check_window(self, context: Mapping[str, Any], clock: str | None) -> None:
        """Check what a row chooses of its window.

        Raises:
            ValueError: it may not, or it is wrong.
        """
        super().check_window(context, clock)
        if self.sessions == "shared" and (why := self.unshareable(context, clock)):
            raise ValueError(why)

    def unshareable(self, of_row: Mapping[str, Any] | None = None, clock: str | None = None) -> str | None:
        """Return what cannot be had in the browser's default context and what to do; None if all can."""
        given = [f"context.{name}" for name in {**self.context, **(of_row or {})} if name != "viewport"]
        given += [*(["allowed_origins"] if self.allowed_origins else []), *(["clock"] if clock else [])]
        if not given:
            return None
        return f"{', '.join(given)} cannot be set in an existing context. Leave them out."

    async def survey(self) -> Survey:
        """Attach to the browser and find out whether it gives contexts of their own to attempts.

        Raises:
            ConfigError: it cannot be attached to, or cannot do what the block asks.
        """
        browser = self.build()
        try:
            await browser.start()
        except Fault as fault:
            raise ConfigError(str(fault)) from fault
        finally:
            await browser.close()
        return browser.survey

    def build(self) -> CdpBrowser:
        """Return the browser, not attached to yet."""
        return CdpBrowser(self)


class CdpBrowser(ChromiumBrowser):
    """A browser that is not ours: closing it closes our windows and leaves it."""

    config: CdpBrowserConfig

    def __init__(self, config: CdpBrowserConfig) -> None:
        super().__init__(config)
        self._why_shared: str | None = None

    @property
    def survey(self) -> Survey:
        """What was found out when it was attached to."""
        if self._why_shared is None:
            return Survey(no_cdp=NO_CDP)
        note = (
            f"the browser at {self.config.endpoint} gives attempts no context of their own "
            f"({self._why_shared}): they use its default one with its cookies and logins, one at a time"
        )
        return Survey(max_windows=1, notes=(note,), no_har=NO_HAR, no_trace=NO_TRACE)

    async def _connect(self) -> Connection:
        limit_s = self.config.connect_timeout_ms / 1000
        try:
            await self.config.endpoint.ask(limit_s)
        except NoEndpoint as error:
            # Before Playwright attaches: its error would name neither the address nor what answers there.
            raise self._fault(str(error)) from error
        driver = await start_driver()
        try:
            return await self._build_connection(driver)
        except BaseException as error:
            # Also where this is cancelled: nobody else knows of the driver.
            await stop_driver(driver)
            if not isinstance(error, playwright_error()):
                raise
            why = f"cannot be attached to: {plainly(Exception(str(error)))}"
            if type(error).__name__ == "TimeoutError":
                why = f"could not be attached to within {limit_s:g} s; a hanging tab may be the reason"
            raise self._fault(why) from error

    async def _build_connection(self, driver: Playwright) -> Connection:
        config = self.config
        browser = await self._attach(driver, is_guest=config.sessions == "shared")
        self._why_shared = why = await _why_shared(browser, config)
        if why is not None and config.sessions != "shared":
            if config.sessions == "isolated":
                raise self._fault(f"gives no contexts of their own ({why}), and sessions is 'isolated'", "")
            if wrong := config.unshareable():
                raise self._fault(f"gives no contexts of their own ({why}): {wrong}", "")
            await browser.close()
            browser = await self._attach(driver, is_guest=True)
        name = f"Chromium {browser.version} (cdp: {config.endpoint})"
        lost = f"The connection to the browser at {config.endpoint} was lost."
        connection = Connection(driver, browser, name=name, lost=lost)
        await connection.listen()
        return connection

    async def _attach(self, driver: Playwright, *, is_guest: bool) -> Chromium:
        endpoint = self.config.endpoint
        return await driver.chromium.connect_over_cdp(
            endpoint.text,
            timeout=self.config.connect_timeout_ms,
            is_local=endpoint.is_local,  # else files that it downloads cannot be looked at
            no_defaults=not is_guest,  # leaves the context alone that no attempt works in
        )

    def _fault(self, what: str, remedy: str = f" Start one that listens: `{HOW_TO_LISTEN}`") -> StopRun:
        endpoint = self.config.endpoint
        end = "" if what.endswith(".") else "."
        return StopRun(
            ErrorSource.BROWSER,
            endpoint.plainly(f"The browser at {endpoint} (browser.url) {what}{end}{remedy}"),
        )

    async def _window(
        self, connection: Connection, request: WindowRequest, rules: WindowRules
    ) -> PlaywrightWindow:
        if self._why_shared is not None:
            if why := self.config.unshareable(request.context, request.clock):
                raise Fault(ErrorSource.WINDOW_CREATION, f"The row's {why}")
            size = {**self.config.context, **request.context}.get("viewport", DEFAULT_VIEWPORT)
            place = Place(
                connection.browser.contexts[0],
                cdp_url=self.config.url if request.wants_cdp else None,
                is_guest=True,
                viewport=(size["width"], size["height"]),
            )
            return await connection.window_in(place, rules)
        if request.wants_cdp:
            raise Fault(ErrorSource.WINDOW_CREATION, NO_CDP)
        return await super()._window(connection, request, rules)


async def _why_shared(browser: Chromium, config: CdpBrowserConfig) -> str | None:
    """Return why attempts share a context, or None if each can have its own."""
    if config.sessions == "shared":
        return "browser.sessions is shared"
    try:
        # Tried, not looked up: no version or name says whether a browser allows it.
        context = await browser.new_context()
        await context.close()
    except playwright_error() as error:
        if is_closed_error(error):
            raise
        return plainly(error)
    return None
