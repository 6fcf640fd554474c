"""What the attempts of a run share in this process: its browser, its sites, its tools."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from pytest_browsereval.browsers.base import Browser
from pytest_browsereval.browsers.playwright.manager import WindowManager
from pytest_browsereval.errors import Fault, RunStopped, UsageError
from pytest_browsereval.run.active import ActiveRun, Prepared
from pytest_browsereval.run.attempt import Services
from pytest_browsereval.run.browser_checks import close_browser, start_browser
from pytest_browsereval.run.manifest import manifest, place_of
from pytest_browsereval.run.plan import Entry
from pytest_browsereval.run.preflight import prepare_browser
from pytest_browsereval.run.shards import Parts
from pytest_browsereval.run.store import Flight
from pytest_browsereval.run.toolsets import Toolsets
from pytest_browsereval.sites import Sites


class Session:
    """A run in this process. Its async methods run on the loop that owns the browser.

    Args:
        run: what is run.
        entries: its trials among the session's items, in all processes; none if all its attempts are made by
            tests that are written by hand.
        prepared: what the checks have found out, in the process that has made them.
        parts: which part of a run this is; None if it is a whole one.
        lanes: how many trials run at once in this process.
        waiting: returns the trials that wait for a lane; asked on the loop.
    """

    def __init__(
        self,
        run: ActiveRun,
        entries: Iterable[Entry] = (),
        *,
        prepared: Prepared | None = None,
        parts: Parts | None = None,
        lanes: int = 1,
        waiting: Callable[[], Iterable[Entry]] = tuple,
    ) -> None:
        self.run = run
        self.entries = tuple(entries)
        self._prepared = prepared
        self._parts = parts
        self._lanes = lanes
        self._waiting = waiting
        self.toolsets = run.toolsets if prepared is None else prepared.toolsets
        """The tools that are on; those of the browser once it is up."""
        self.manifest: dict[str, Any] = {}
        """What the run is made of, once the browser is up."""
        self.stopped: str | None = None
        """Why no further attempt can succeed, once one has shown it."""
        self.has_started = False
        """True once there was a browser and a run folder; before that nothing has been spent."""
        self.unclosed: list[str] = []
        """What could not be closed at the end, and why: the results hold, something may be left running."""
        self._starting = asyncio.Lock()
        self._services: Services | None = None
        self._browser: Browser | None = None

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
            await self.services()
        self.has_started = True

    async def services(self) -> Services:
        """Return what attempts share, started at the first call.

        Raises:
            RunStopped: the browser cannot be started, or an earlier attempt has stopped the run.
            OSError: the run folder cannot be written.
        """
        async with self._starting:
            if self.stopped is not None:  # else each lane would try in vain to start a browser
                raise RunStopped(self.stopped)
            if self._services is None:
                run = self.run
                self._browser = browser = await self._start_browser()
                self.toolsets = run.make_toolsets(browser.survey)
                self.manifest = describe(run, self.toolsets, browser.description)
                if self.entries:
                    run.held.enter_context(run.store.locks.hold())
                    run.trials.begin(self, {**self.manifest, "selected": len(self.entries), **self._place()})
                self.has_started = True
                self._services = make_services(run, self.toolsets, browser, self._count_coming)
            return self._services

    def _place(self) -> dict[str, Any]:
        """Return what the manifest says of the run's place: its config's folder, and which part it is."""
        parts = {} if self._parts is None else {"shards": self._parts.as_json()}
        return {**place_of(self.run.config.base_dir, self.run.store.root), **parts}

    def _count_coming(self) -> int:
        """Return how many windows should be ready for trials that wait for a lane, of those that can be."""
        config = self.run.config
        if config.capture.har:
            return 0
        plain = [entry for entry in self._waiting() if not config.variants[entry.variant].needs().cdp]
        return min(len(plain), config.browser.ready(self._lanes))

    async def _start_browser(self) -> Browser:
        run, prepared = self.run, self._prepared
        try:
            browser = await start_browser(prepare_browser(run.config))
        except (Fault, UsageError) as error:
            self.stopped = run.redact(str(error))
            raise RunStopped(self.stopped) from error
        known = None if prepared is None else prepared.survey.tools
        if known is not None and browser.survey.tools != known:
            await browser.close()
            self.stopped = "the tools of the browser are not those that were checked. Run again."
            raise RunStopped(self.stopped)
        return browser

    async def close(self) -> None:
        """Close windows, browser and sites; never raises."""
        services, self._services = self._services, None
        browser, self._browser = self._browser, None
        if services is not None:
            await services.windows.close_all()
            await services.sites.close()
        run = self.run
        if browser is not None and (why := await close_browser(run.config.browser, browser)) is not None:
            self.unclosed.append(run.redact(why))
        run.let_go()

    def forget(self) -> list[Flight]:
        """Drop what lived on a lost loop, and return it; the next attempt starts a browser of its own."""
        self._starting = asyncio.Lock()
        self._services = None
        self._browser = None
        return self.run.store.take_flight()


def describe(run: ActiveRun, toolsets: Toolsets, browser: str) -> dict[str, Any]:
    """Return the manifest of a run: all that its results depend on.

    Args:
        run: what is run.
        toolsets: the tools that are on.
        browser: what the browser calls itself; "" before it is up.
    """
    owners, calls = run.spec.registry.owners(), run.spec.cassettes.mode
    content = manifest(run.config, browser, toolsets.tools, toolsets.kits, owners, model_calls=calls)
    return {**content, "left_out": [*run.spec.left_out], "judged_by": [*run.spec.judged_by]}


def make_services(
    run: ActiveRun,
    toolsets: Toolsets,
    browser: Browser | None = None,
    coming: Callable[[], int] = lambda: 0,
) -> Services:
    """Return what attempts share; no window can be opened where there is no browser, only faults recorded.

    Args:
        run: what is run.
        toolsets: the tools that are on.
        browser: the one that is up.
        coming: returns how many windows should be ready.
    """
    config, root = run.config, run.store.root
    # A site may lie in the folder of the eval, and its agent reads all that it serves.
    rows = [file for one in config.datasets if (file := one.file(config.base_dir)).is_file()]
    own = (config.path, config.output_dir, config.cassettes, root, *rows)
    return Services(
        run=run,
        store=run.store,
        sites=Sites(config.sites, config.base_dir, root / "sites", run.redact, own),
        windows=WindowManager(browser or prepare_browser(config).build(), coming, block=config.browser),
        toolsets=toolsets,
        cassettes=run.cassettes,
    )
