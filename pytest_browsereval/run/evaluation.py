"""An eval config being run in this process: its plan, its run folder, its browser and its sites."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextvars import Context
from typing import Any

from pytest_browsereval.browsers.base import Browser, BrowserConfig
from pytest_browsereval.browsers.windows import WindowManager
from pytest_browsereval.capture.redaction import spellings
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.errors import ConfigError, Fault, RunStopped, UsageError
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.registry import Registry
from pytest_browsereval.run.attempt import Behaviour, Job, Services, record_fault, run_trial
from pytest_browsereval.run.manifest import manifest
from pytest_browsereval.run.plan import Entry, Plan
from pytest_browsereval.run.store import AttemptFolder, RunStore
from pytest_browsereval.sites import Sites, check
from pytest_browsereval.tools.toolkits import resolve_tools

REDACTED = "[redacted]"


class Evaluation:
    """One config in one process. Its async methods run on the loop that owns the browser.

    Args:
        config: what to run.
        registry: where rows look their graders up.
        run_id: the same for every process of the run.
        worker: names this process.

    Raises:
        ConfigError: a tool switch names no tool.
    """

    def __init__(self, config: EvalConfig, registry: Registry, *, run_id: str, worker: str = "main") -> None:
        self.config = config
        try:
            self.tools = resolve_tools(config.tools)
        except ValueError as error:
            raise ConfigError(f"{config.path}: tools: {error}") from None
        self.plan = Plan(config, registry, {tool.name: tool for tool in self.tools})
        self.store = RunStore.locate(config.output_dir, config.name, run_id, worker=worker)
        self._registry = registry
        self.behaviour = Behaviour()
        self.stopped: str | None = None
        """Why no further attempt can succeed, once one has shown it."""
        self.has_started = False
        """True once there was a browser and a run folder; before that nothing has been spent."""
        own = (s for member in self._members() for s in member.secrets())
        self._secrets = {*config.secrets(), *own}
        self._spellings = spellings(self._secrets)
        self._starting = asyncio.Lock()
        self._services: Services | None = None
        self._browser: Browser | None = None

    def _members(self) -> Iterable[Any]:
        return (*self.config.variants.values(), *self.config.graders, self.config.browser)

    def _browser_config(self) -> BrowserConfig:
        return self.config.browser.prepared(self.config.base_dir)

    def redact(self, text: str) -> str:
        """Return the text without the secrets of the config."""
        for secret in self._spellings:
            text = text.replace(secret, REDACTED)
        return text

    # -- before anything is spent

    def preflight(self) -> None:
        """Check what can be checked without a browser: keys, callables, programs, folders of sites.

        Raises:
            ConfigError: with what to type next.
        """
        check(self.config.sites, self.config.base_dir)
        self._browser_config()
        for agent in self.config.variants.values():
            agent.preflight(self.config.base_dir)
        for grader in self.config.graders:
            grader.preflight(self.config.base_dir)

    def check_rows(self, entries: Iterable[Entry]) -> None:
        """Read and check every row that is to run, and what its graders need.

        Raises:
            DatasetError: rows are wrong.
            ConfigError: a grader's program is missing.
        """
        entries = list(entries)
        self.plan.check(entries)
        seen: set[str] = set()
        for entry in entries:
            for grader in self.plan.ready(entry).graders:
                if (block := grader.model_dump_json()) not in seen:
                    seen.add(block)
                    grader.preflight(self.config.base_dir)

    # -- on the loop

    async def trial(self, entry: Entry, node_id: str) -> tuple[TaskMetadata, AttemptFolder]:
        """Run one trial, with its retries.

        Raises:
            RunStopped: nothing can succeed any more; the attempt was not made.
            OSError: the run folder cannot be written.
        """
        services = await self.services()
        metadata, folder = await run_trial(self._job(entry, node_id), services, retries=self.config.retries)
        if metadata.stops_run:
            self.stopped = metadata.reason
        if entry.trial == self.config.trials:
            self.plan.forget(entry)
        return metadata, folder

    def record_fault(self, entry: Entry, node_id: str, fault: Fault) -> tuple[TaskMetadata, AttemptFolder]:
        """Record a trial as errored that could not finish by itself; needs no loop.

        Raises:
            OSError: the run folder cannot be written.
        """
        return record_fault(self._job(entry, node_id), self._make_services(), fault)

    def _job(self, entry: Entry, node_id: str) -> Job:
        ready = self.plan.ready(entry)
        rows_own = {secret for grader in ready.graders for secret in grader.secrets()}
        if not rows_own <= self._secrets:
            self._secrets |= rows_own
            self._spellings = spellings(self._secrets)
        return Job(node_id, entry.key, ready.task, ready.graders, self.config.variants[entry.variant])

    def _make_services(self) -> Services:
        browser = self._browser or self._browser_config().build()
        return Services(
            config=self.config,
            store=self.store,
            sites=Sites(self.config.sites, self.config.base_dir, self.store.root / "sites"),
            windows=WindowManager(browser),
            tools=self.tools,
            behaviour=self.behaviour,
            redact=self.redact,
        )

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
                self._browser = browser = await self._start_browser()
                content = manifest(self.config, browser.description, self.tools, self._registry.owners())
                self.store.write_manifest(content)
                self.has_started = True
                self._services = self._make_services()
            return self._services

    async def _start_browser(self) -> Browser:
        browser = self._browser_config().build()
        try:
            # What a browser starts is no part of the attempt that happened to need it first.
            await asyncio.create_task(browser.start(), context=Context())
        except (Fault, UsageError) as error:
            self.stopped = str(error)
            raise RunStopped(self.stopped) from error
        return browser

    async def close(self) -> None:
        """Close windows, browser and sites; never raises."""
        services, self._services = self._services, None
        if services is not None:
            await services.windows.close_all()
            await services.sites.close()
        if self._browser is not None:
            await self._browser.close()
            self._browser = None

    def forget(self) -> None:
        """Drop what lived on a loop that was lost; the next attempt starts a browser of its own."""
        self.store.take_flight()
        self._starting = asyncio.Lock()
        self._services = None
        self._browser = None
