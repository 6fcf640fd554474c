"""The ``playwright`` browser: one Chromium per process, a fresh context per attempt."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import model_validator

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.binary import candidates, launch_first, reason
from pytest_browsereval.browsers.driver import start_driver, stop_driver
from pytest_browsereval.browsers.playwright.chromium import ChromiumBrowser, Connection, filter_traffic
from pytest_browsereval.browsers.playwright.context_options import Reader
from pytest_browsereval.browsers.playwright.contexts import PageOptions
from pytest_browsereval.browsers.playwright.place import Place, WindowRules
from pytest_browsereval.browsers.playwright.waiting import is_closed_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ErrorSource, StopRun

PORT_S = 10.0
"""How long a browser may take to say at which port it listens."""
LENT_ARGS = ("--remote-debugging-port=0", "--enable-automation")
"""Any free port, on loopback only. Without the second one a browser keeps its command line to itself, and
that has the folder in which the port is written."""
FILTERED_ARGS = ("--force-webrtc-ip-handling-policy=disable_non_proxied_udp",)
"""A call from page to page goes through no proxy by itself."""
_NETWORK_ARGS = ("--proxy-server", "--proxy-pac-url", "--host-resolver-rules", "--host-rules")
_PORT_FILE = "DevToolsActivePort"
_PROFILE = "--user-data-dir="


class PlaywrightBrowserConfig(PageOptions):
    """A Chromium of our own, driven by Playwright."""

    type: Literal["playwright"] = "playwright"
    headless: bool = True
    """False shows the windows, which needs a display and a full Chromium."""
    binary: str | None = None
    """Path or name of the browser; by default the best one on this machine."""
    args: tuple[str, ...] = ()
    """More command-line switches for the browser."""

    @model_validator(mode="after")
    def _filter_resolves_names(self) -> Self:
        own = [arg for arg in self.args if arg.partition("=")[0] in _NETWORK_ARGS]
        if self.allowed_origins and own:
            raise ValueError(
                f"args has {own[0]!r}, which has no effect with allowed_origins: a filter in front of the "
                "browser then resolves hosts. Use the machine's hosts file or HTTP_PROXY and HTTPS_PROXY, or "
                "leave one of the two out."
            )
        return self

    def prepare(self, base_dir: Path) -> Self:
        """Return the block with its paths absolute.

        Raises:
            ConfigError: the named browser cannot be meant, or there is no stored state.
        """
        if self.binary is not None:
            candidates(self.binary, headed=not self.headless)
        return super().prepare(base_dir)

    def build(self) -> PlaywrightBrowser:
        """Return the browser, not started yet."""
        return PlaywrightBrowser(self)


class PlaywrightBrowser(ChromiumBrowser):
    """One Chromium, launched again when it has died; every window is a fresh context.

    A window for programs of other processes has a browser of its own: they see the context that a browser
    begins with, and all its others.
    """

    config: PlaywrightBrowserConfig

    async def _connect(self) -> Connection:
        return await _launch(self.config)

    async def _serving(self, request: WindowRequest) -> Connection:
        if not request.wants_cdp:
            return await self._living()
        async with filter_traffic(self._rules(request).allowed) as origins:

            def options(devices: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
                given = self._options(request, devices)
                given.pop("storage_state", None)  # a launch does not take it
                return {**given, **(origins.options if origins else {})}

            own = await _launch(self.config, context=options)
        own.is_lent = own.is_retired = True
        own.origins = origins
        self._lent = [*(old for old in self._lent if not old.has_ended), own]
        return own

    async def _window(
        self, connection: Connection, request: WindowRequest, rules: WindowRules
    ) -> PlaywrightWindow:
        if not connection.is_lent:
            return await super()._window(connection, request, rules)
        try:
            context = connection.browser.contexts[0]
            if (state := self.config.context.get("storage_state")) is not None:
                await context.set_storage_state(state)
            place = Place(context, cdp_url=await _devtools_url(connection), origins=connection.origins)
        except BaseException:
            await connection.end()
            if connection.origins is not None:
                await connection.origins.close()
            raise
        return await connection.window_in(place, rules)


async def _launch(config: PlaywrightBrowserConfig, *, context: Reader | None = None) -> Connection:
    """Start a driver and a browser; another one if it ends right after its start.

    Args:
        config: which one, and how.
        context: makes the options of the context that the browser begins with, for one that is to be lent.

    Raises:
        StopRun: source *browser*; the message tells what to type next.
        ConfigError: the named browser cannot be meant.
    """
    for _ in range(2):
        try:
            return await _launch_once(config, context)
        except Exception as error:
            if not is_closed_error(error):
                raise
            why = reason(str(error))
    raise StopRun(
        ErrorSource.BROWSER,
        f"The browser started and ended at once, twice: {why}\nRun it in a terminal to see what it "
        "prints; browsereval doctor shows which one it is.",
    )


async def _launch_once(config: PlaywrightBrowserConfig, context: Reader | None) -> Connection:
    headed = not config.headless
    choice = candidates(config.binary, headed=headed)
    driver = await start_driver()
    try:
        browser, binary = await launch_first(
            driver.chromium,
            choice,
            headed=headed,
            args=[
                *config.args,
                *(LENT_ARGS if context is not None else ()),
                *(FILTERED_ARGS if config.allowed_origins else ()),
            ],
            context=context and context(driver.devices),
            handle_sigint=False,  # Ctrl-C is pytest's to handle
            handle_sigterm=False,
            handle_sighup=False,
        )
        lost = f"The browser ended unexpectedly: {binary}."
        connection = Connection(driver, browser, name=str(binary), lost=lost)
        await connection.listen()
    except BaseException:
        await stop_driver(driver)
        raise
    return connection


async def _devtools_url(connection: Connection) -> str:
    """Return where other programs attach to a browser that was launched with ``LENT_ARGS``."""
    session = await connection.browser.new_browser_cdp_session()
    line = (await session.send("Browser.getBrowserCommandLine"))["arguments"]
    await session.detach()
    profile = next(word.removeprefix(_PROFILE) for word in line if word.startswith(_PROFILE))
    async with asyncio.timeout(PORT_S):
        while not (port := _port_in(Path(profile, _PORT_FILE))):  # noqa: ASYNC110 -- a file tells nobody
            await asyncio.sleep(0.02)
    return f"http://127.0.0.1:{port}"


def _port_in(file: Path) -> str:
    try:
        lines = file.read_text().split()
    except FileNotFoundError:
        return ""
    return lines[0] if len(lines) == 2 else ""  # port and path; else it is being written
