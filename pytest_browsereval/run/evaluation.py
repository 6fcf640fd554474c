"""An eval config being run in this process: its plan, its run folder, its browser and its sites."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pytest_browsereval.agents.base import AgentConfig
from pytest_browsereval.browsers.base import Browser, BrowserConfig, Survey
from pytest_browsereval.browsers.playwright.manager import WindowManager
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.contracts import naming, texts_of
from pytest_browsereval.errors import ConfigError, Fault, RunStopped, UsageError
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.needs import Offers
from pytest_browsereval.redaction.known import know_secrets
from pytest_browsereval.redaction.redactor import Redactor
from pytest_browsereval.redaction.restoring import RestoringRedactor
from pytest_browsereval.redaction.spellings import list_base64_forms, list_spellings
from pytest_browsereval.registry import Registry
from pytest_browsereval.replay.cassettes import Cassettes, ModelCalls
from pytest_browsereval.run.attempt import Services, record_fault, run_trial
from pytest_browsereval.run.behaviour import Behaviour
from pytest_browsereval.run.browser_checks import (
    check_agents,
    check_capture,
    close_browser,
    start_browser,
    survey_of,
)
from pytest_browsereval.run.budget import Budget
from pytest_browsereval.run.control import Control
from pytest_browsereval.run.drift import drift
from pytest_browsereval.run.manifest import config_folder, manifest
from pytest_browsereval.run.outages import Outages
from pytest_browsereval.run.own_runs import OwnRuns
from pytest_browsereval.run.plan import Entry, Plan
from pytest_browsereval.run.record import AttemptRecord
from pytest_browsereval.run.selection import note_selected
from pytest_browsereval.run.shards import Parts
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.run.toolsets import Toolsets
from pytest_browsereval.run.trial import Trial
from pytest_browsereval.sites import Sites, check
from pytest_browsereval.tools.base import Tool
from pytest_browsereval.tools.kit import Toolkit, ToolkitConfig
from pytest_browsereval.tools.toolkits import build_plugged_kits, kits_for


class Evaluation:
    """One config in one process. Its async methods run on the loop that owns the browser.

    Args:
        config: what to run.
        registry: where rows look their graders up.
        run_id: the same for every process of the run.
        worker: names this process.
        began: when the session began, in seconds since 1970; now by default.

    Raises:
        ConfigError: a tool switch names no tool, or a toolkit cannot be used.
    """

    def __init__(
        self,
        config: EvalConfig,
        registry: Registry,
        *,
        run_id: str,
        worker: str = "main",
        began: float | None = None,
    ) -> None:
        self.config = config
        self.toolsets = Toolsets()
        """The tools that are switched on; a browser that brings its own has to be asked for them first."""
        self.notes: list[str] = []
        """What has come to light since the config was read, for whoever watches the run."""
        self.plan = Plan(config, registry, None)
        self._plugged = self._build_kits(registry)
        if not config.browser.brings_tools:
            self._take_tools(Survey())
        self.store = RunStore.locate(config.output_dir, config.name, run_id, worker=worker)
        self.began = time.time() if began is None else began
        """When the session began, in seconds since 1970."""
        self._take_store()
        self._registry = registry
        self.behaviour = Behaviour()
        self.survey = Survey()
        """What the browser can do, once it was asked."""
        self.stopped: str | None = None
        """Why no further attempt can succeed, once one has shown it."""
        self.lanes = config.lanes
        """How many trials run at once in this process."""
        self.waiting: Callable[[], Iterable[Entry]] = tuple
        """Returns the trials that wait for a lane; asked on the loop."""
        self.entries: list[Entry] | None = None
        """Its trials among the session's items, in all processes; None before they are collected."""
        self.parts: Parts | None = None
        """Which part of a run this is; None if it is a whole one."""
        self.baseline: Path | None = None
        """The earlier run, or a baseline's file, that the command line wants the run compared with."""
        self.model_calls = ModelCalls.LIVE
        """What becomes of the calls of models."""
        self.is_planned = False
        """Whether nothing is to be run, only counted."""
        self.unclosed: list[str] = []
        """What could not be closed at the end, and why: the results hold, something may be left running."""
        self.has_started = False
        """True once there was a browser and a run folder; before that nothing has been spent."""
        own = (secret for member in self._members() for secret in texts_of(member, "secrets"))
        self._secrets = {*config.secrets(), *own}
        self._take_secrets()
        self._starting = asyncio.Lock()
        self._services: Services | None = None
        self._browser: Browser | None = None
        self._held = ExitStack()
        self.own_runs = OwnRuns(config, self.store)
        """Those of tests by hand, which share all else of the config with its items."""

    def _take_store(self) -> None:
        """Have the run folder kept as the config says."""
        self.store.synced_from = self.store.root if self.config.capture.fsync else None
        self.budget = Budget(self.config.budget, self.store, self.began)
        self.outages = Outages(self.store, self.began, self.redact)
        self.control = Control(self.store)

    def obey(self, session: str) -> None:
        """Have attempts begin as somebody wants it who watches this session of the run."""
        self.control = Control(self.store, session)

    def _members(self) -> Iterable[Any]:
        return (
            *self.config.variants.values(),
            *self.config.graders,
            *self.config.toolkits,
            self.config.browser,
            *self.config.sites.values(),
            *filter(None, [self.config.judge]),
        )

    def _browser_config(self) -> BrowserConfig:
        with naming(self.config.browser, "prepare"):
            return self.config.browser.prepare(self.config.base_dir)

    def redact(self, text: str) -> str:
        """Return the text without the secrets of the config."""
        return self._redactor.redact(text)

    def _take_secrets(self) -> None:
        """Have the secrets redacted, in all their spellings, and no text cut through one."""
        self._redactor = Redactor((*list_spellings(self._secrets), *list_base64_forms(self._secrets)))
        know_secrets(self._redactor.spellings)

    def hide(self, graders: Iterable[GraderConfig]) -> None:
        """Have the secrets of a row's own graders redacted too."""
        own = {secret for grader in graders for secret in texts_of(grader, "secrets")}
        if not own <= self._secrets:
            self._secrets |= own
            self._take_secrets()

    def _take_tools(self, survey: Survey) -> None:
        """Settle which tools are on.

        Raises:
            ConfigError: a switch names no tool, or two tools have one name.
        """
        self.toolsets = Toolsets.of(self.config, kits_for(survey, self.config.browser), self._plugged)
        self.plan.toolsets = self.toolsets

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that any of its attempts may have."""
        return self.toolsets.tools

    @property
    def kits(self) -> tuple[Toolkit, ...]:
        """The toolkits that they are of."""
        return self.toolsets.kits

    def _build_kits(self, registry: Registry) -> tuple[Toolkit, ...]:
        try:
            return build_plugged_kits(self.config.toolkits, registry, self.config.browser)
        except ValueError as error:
            raise self.config.wrong(("toolkits",), error) from None

    @property
    def cassettes(self) -> Cassettes:
        """Where the calls of its models are recorded, or replayed from."""
        redactor = RestoringRedactor(self.config.secrets_by_name(), self.redact)
        return Cassettes(self.config, self.model_calls, redactor)

    def asks_no_model(self) -> bool:
        """Whether the model calls of all its trials are replayed, so that no key is needed."""
        cassettes = self.cassettes
        return all(cassettes.replays(entry.key.cassette) for entry in self.plan.entries())

    # -- before anything is spent

    def preflight(self) -> None:
        """Check what can be checked without a window: keys, callables, programs, folders of sites.

        A browser that is not ours to launch is asked what it can do.

        Raises:
            ConfigError: with what to type next.
        """
        check(self.config.sites, self.config.base_dir)
        if self.model_calls is not ModelCalls.LIVE:
            check_agents(self.config, Offers(llm=self.model_calls))
        browser = self._browser_config()
        for name, agent in self.config.variants.items():
            self._preflight(agent, "variants", name)
        for number, grader in enumerate(self.config.graders):
            self._preflight(grader, "graders", number)
        for number, kit in enumerate(self.config.toolkits):
            self._preflight(kit, "toolkits", number)
        check_capture(self.config, self.survey)
        self.survey = asyncio.run(survey_of(browser))
        check_agents(self.config, Offers(no_cdp=self.survey.no_cdp))
        check_capture(self.config, self.survey)
        self._take_tools(self.survey)
        self.notes += self.survey.notes
        self._check_tools()
        for dataset in self.config.dataset:
            with naming(dataset, "notes"):
                self.notes += dataset.notes(self.config.base_dir)
        self.notes += drift(self.store, self.config, self.tools)

    def _preflight(self, member: AgentConfig | GraderConfig | ToolkitConfig, *path: str | int) -> None:
        try:
            with naming(member, "preflight"):
                member.preflight(self.config.base_dir)
        except ConfigError as error:
            raise self.config.wrong(path, error) from None

    def _check_tools(self) -> None:
        """Ask each agent whether what it says of tools fits those that there are.

        Raises:
            ConfigError: it does not.
        """
        notes = []
        for name, agent in self.config.variants.items():
            tools = {tool.name: tool for tool in self.toolsets.by_variant[name]}
            notes.append(self.toolsets.not_offered(name))
            try:
                with naming(agent, "check_tools", ValueError):
                    found = agent.check_tools(tools, self.kits)
            except ValueError as error:
                why = self.toolsets.with_absent_tools(name, error)
                raise self.config.wrong(("variants", name), why) from None
            notes += [f"agent {name}: {note}" for note in found]
        self.notes += filter(None, dict.fromkeys(notes))

    def check_rows(self, entries: Iterable[Entry]) -> None:
        """Read and check every row that is to run, and what its graders need.

        Raises:
            DatasetError: rows are wrong.
            ConfigError: a grader's program is missing.
            CassetteError: what is to be replayed cannot be.
        """
        entries = list(entries)
        self.plan.check(entries)
        self.cassettes.check(entry.key.cassette for entry in entries)
        seen: set[str] = set()
        for entry in entries:
            for grader in self.plan.ready(entry).graders:
                if (block := grader.model_dump_json()) not in seen:
                    seen.add(block)
                    with naming(grader, "preflight"):
                        grader.preflight(self.config.base_dir)

    def count_selected(self, count: int) -> int | None:
        """Return how many trials the run is to have; None if nobody knows.

        Args:
            count: of the session's items that are of this config.
        """
        return count

    def count_skipped(self, count: int) -> int:
        """Return how many trials of the run were skipped before their attempt.

        Args:
            count: of the session's items of this config that were.
        """
        return count

    def to_run(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return the trials of which an attempt has to be made."""
        return list(entries)

    @property
    def goes_on(self) -> bool:
        """Whether its trials may have results of an earlier session."""
        return False

    @property
    def rewrites(self) -> bool:
        """Whether records of earlier sessions are written again."""
        return False

    # -- on the loop

    async def start(self) -> None:
        """Start what attempts share, so that what is missing is told before the first one.

        Raises:
            RunStopped: the browser cannot be started.
            OSError: the run folder cannot be written.
        """
        await self.services()

    async def trial(self, entry: Entry, node_id: str) -> AttemptRecord:
        """Run one trial, with its retries.

        Raises:
            RunStopped: nothing can succeed any more; the attempt was not made.
            OverBudget: the run's budget is used up; the attempt was not made.
            CalledOff: nobody wants the attempt any more; it was not made.
            OSError: the run folder cannot be written.
        """
        if why := self.outages.over():  # another process may have met them, which has started
            self.stopped, self.has_started = why, True
            raise RunStopped(why)
        await self.control.admit(entry.key)
        self.budget.check()  # before a browser is started for nothing
        services = await self.services()
        record = await run_trial(self._ready(entry), services, node_id)
        if record.metadata.stops_run:
            self.stopped = record.metadata.reason
        if entry.trial == self.config.trials:
            self.plan.forget(entry)
        return record

    def find_judged(self, entry: Entry) -> AttemptRecord | None:
        """Return the judged attempt of a trial that another process of the run has made; None if none has."""
        found = self.store.last_result(entry.key)
        return AttemptRecord(*found) if found and found[0].verdict is not Verdict.ERRORED else None

    def record_fault(self, entry: Entry, node_id: str, fault: Fault) -> AttemptRecord:
        """Record a trial as errored that could not finish by itself; needs no loop.

        Raises:
            OSError: the run folder cannot be written.
        """
        return record_fault(self._ready(entry), self._make_services(), node_id, fault)

    def _ready(self, entry: Entry) -> Trial:
        trial = self.plan.ready(entry)
        self.hide(trial.graders)
        return trial

    def _make_services(self) -> Services:
        browser = self._browser or self._browser_config().build()
        return Services(
            config=self.config,
            store=self.store,
            sites=Sites(self.config.sites, self.config.base_dir, self.store.root / "sites", self.redact),
            windows=WindowManager(browser, self._coming_windows, block=self.config.browser),
            toolsets=self.toolsets,
            behaviour=self.behaviour,
            budget=self.budget,
            control=self.control,
            outages=self.outages,
            cassettes=self.cassettes,
            redact=self.redact,
        )

    def _coming_windows(self) -> int:
        """Return how many windows should be ready for trials that wait for a lane, of those that can be."""
        if self.config.capture.har:
            return 0
        plain = [entry for entry in self.waiting() if not self.config.variants[entry.variant].needs().cdp]
        return min(len(plain), self.config.browser.ready(self.lanes))

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
                self._take_tools(browser.survey)
                content = manifest(
                    self.config,
                    browser.description,
                    self.tools,
                    self.kits,
                    self._registry.owners(),
                    model_calls=self.model_calls.value,
                )
                self.own_runs.manifest = content
                if self.entries != []:  # else all its attempts are of tests by hand
                    self._held.enter_context(self.store.hold())
                    self._note_start(content)
                self.has_started = True
                self._services = self._make_services()
            return self._services

    def _place(self) -> dict[str, Any]:
        """Return what the manifest says of the run's place: its config's folder, and which part it is."""
        folder = config_folder(self.config.base_dir, self.store.root)
        return {
            **({} if folder is None else {"config_folder": folder}),
            **({} if self.parts is None else {"shards": self.parts.as_json()}),
        }

    def _note_start(self, manifest: dict[str, Any]) -> None:
        """Write down what the run is made of and which trials it is to have, once the browser is up."""
        self._note_selected()
        count = None if self.entries is None else len(self.entries)
        self.store.write_manifest({**manifest, "selected": count, **self._place()})

    def _note_selected(self) -> None:
        note_selected(self.store, (entry.key for entry in self.entries or ()))

    async def _start_browser(self) -> Browser:
        try:
            browser = await start_browser(self._browser_config())
        except (Fault, UsageError) as error:
            self.stopped = self.redact(str(error))
            raise RunStopped(self.stopped) from error
        if self.survey.tools is not None and browser.survey.tools != self.survey.tools:
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
        if browser is not None and (why := await close_browser(self.config.browser, browser)) is not None:
            self.unclosed.append(self.redact(why))
        self.let_go()

    def let_go(self) -> None:
        """Let others write the run; needs no loop, and does nothing the second time."""
        self._held.close()
        self.own_runs.let_go()

    def forget(self) -> None:
        """Drop what lived on a loop that was lost; the next attempt starts a browser of its own."""
        self.store.take_flight()
        self._starting = asyncio.Lock()
        self._services = None
        self._browser = None
