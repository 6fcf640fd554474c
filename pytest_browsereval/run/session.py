"""What the attempts of a run share in this process: its browser, its sites, its tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextvars import Context
from dataclasses import replace
from typing import Any

from pytest_browsereval.browsers.base import Browser, BrowserConfig
from pytest_browsereval.browsers.playwright.manager import WindowManager
from pytest_browsereval.contracts import check_result, naming
from pytest_browsereval.errors import BrowserEvalError, Fault, RunStopped, UsageError
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.cassettes import Cassettes
from pytest_browsereval.run.manifest import manifest, place_of
from pytest_browsereval.run.plan import Entry
from pytest_browsereval.run.preflight import prepare_browser
from pytest_browsereval.run.store import Flight
from pytest_browsereval.sites import Sites


class Session:
    """What the attempts of a run share in this process; its async methods run on the loop of the browser.

    Args:
        run: what is run.
        entries: its trials among the session's items, in all processes; none if all its attempts are made by
            hand-written tests.
    """

    sites: Sites
    """There once it is open, as are its windows."""
    windows: WindowManager
    cassettes: Cassettes

    def __init__(self, run: ActiveRun, entries: Iterable[Entry] = ()) -> None:
        self.run = run
        self.entries = tuple(entries)
        self.manifest: dict[str, Any] = {}
        """What the run is made of, once the browser is up."""
        self.stopped: str | None = None
        """Why no further attempt can succeed, once one has shown it."""
        self.has_started = False
        """True once there was a browser and a run folder; before that nothing has been spent."""
        self.unclosed: list[str] = []
        """What could not be closed at the end, and why: the results hold, something may be left running."""
        self._starting = asyncio.Lock()
        self._browser: Browser | None = None
        self._has_begun = False

    def stop(self, why: str, *, has_started: bool = False) -> None:
        """Begin no further attempt.

        Args:
            why: what every further attempt would meet.
            has_started: whether another process has started the run and met it.
        """
        self.stopped = why
        self.has_started = self.has_started or has_started

    async def start(self) -> None:
        """Start what attempts share, so that what is missing is found out before the first one.

        Raises:
            RunStopped: the browser cannot be started.
            OSError: the run folder cannot be written.
        """
        if self.run.trials.needs_browser:
            await self.open()
        self.has_started = True

    async def open(self) -> None:
        """Start what attempts share at the first call.

        Raises:
            RunStopped: the browser cannot be started, or an earlier attempt has stopped the run.
            OSError: the run folder cannot be written.
        """
        async with self._starting:
            if self.stopped is not None:  # else each lane would try in vain to start a browser
                raise RunStopped(self.stopped)
            if self._browser is None:
                await self._start_browser()
            if not self._has_begun and self.entries:
                self.run.held.enter_context(self.run.store.locks.hold())
                place = place_of(self.run.config.base_dir, self.run.store.root)
                parts = {"shards": self.run.parts.as_json()} if self.run.parts else {}
                begun = {**self.manifest, "selected": len(self.entries), **place, **parts}
                self.run.trials.begin(self, begun)
            self._has_begun = self.has_started = True

    async def _start_browser(self) -> None:
        run, config, root = self.run, self.run.config, self.run.store.root
        try:
            browser = await start_browser(prepare_browser(config))
        except (Fault, UsageError) as error:
            self.stopped = run.redact(str(error))
            raise RunStopped(self.stopped) from error
        survey, known = browser.survey, run.survey.tools
        if changed := [tool.name for tool in known or () if tool not in (survey.tools or ())]:
            await browser.close()
            self.stopped = f"the browser has changed or left out the tools {', '.join(changed)}. Run again."
            raise RunStopped(self.stopped)
        self._browser = browser
        # Servers may add tools seconds after their start; rows were checked against the first ones.
        run.take_survey(survey if known is None else replace(survey, tools=known))
        run.hide(())
        self.manifest = describe(run, browser.description)
        # A site may lie in the folder of the eval, and its agent reads all that it serves.
        rows = [file for one in config.datasets if (file := one.file(config.base_dir)).is_file()]
        own = (config.path, config.output_dir, config.cassettes, root, *rows)
        self.sites = Sites(config.sites, config.base_dir, root / "sites", run.redact, own)
        self.windows = WindowManager(browser, block=config.browser)
        self.cassettes = run.cassettes

    async def close(self) -> None:
        """Close windows, browser and sites; never raises."""
        run, browser, self._browser = self.run, self._browser, None
        if browser is not None:
            await self.windows.close_all()
            await self.sites.close()
            if (why := await close_browser(run.config.browser, browser)) is not None:
                self.unclosed.append(run.redact(why))
        run.let_go()

    def forget(self) -> list[Flight]:
        """Drop what lived on a lost loop, and return it; the next attempt starts a browser of its own."""
        self._starting = asyncio.Lock()
        self._browser, self._has_begun = None, False
        return self.run.store.take_flight()


async def start_browser(block: BrowserConfig) -> Browser:
    """Build a browser and start it.

    Raises:
        Fault: it cannot be started.
        PluginError: it raises or returns what it must not.
    """
    with naming(block, "build"):
        built = block.build()
    browser = check_result(block, "build", built, Browser, "a Browser")

    async def start() -> None:
        with naming(block, f"{type(browser).__name__}.start"):
            await browser.start()

    # What a browser starts is no part of the attempt that happened to need it first.
    await asyncio.create_task(start(), context=Context())
    return browser


async def close_browser(block: BrowserConfig, browser: Browser) -> str | None:
    """Close a browser; return why it could not be closed, None if it was."""
    try:
        with naming(block, f"{type(browser).__name__}.close"):
            await browser.close()
    except BrowserEvalError as error:
        return str(error)
    return None


def describe(run: ActiveRun, browser: str) -> dict[str, Any]:
    """Return the manifest of a run: all that its results depend on.

    Args:
        run: what is run.
        browser: what the browser calls itself; "" before it is up.
    """
    tools, owners = run.toolsets, run.registry.owners()
    content = manifest(run.config, browser, tools.tools, tools.kits, owners, model_calls=run.model_calls.mode)
    return {**content, "left_out": [*run.left_out], "judged_by": [*run.judged_by]}
