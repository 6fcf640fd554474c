"""What the fixtures of hand-written tests do: one object for each test, closed when it ends."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import pytest

from pytest_browsereval.agents.base import AgentEvaluator
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.config import config_from
from pytest_browsereval.errors import ErrorSource, Fault, UsageError
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.hooks.prefetch import Prefetch
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.hooks.start import start
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.report.assertion import explain
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.attempt import attempt, is_retried
from pytest_browsereval.run.guard import CallGuard
from pytest_browsereval.run.own_runs import new_trial
from pytest_browsereval.run.plan import Entry
from pytest_browsereval.run.store import home_of
from pytest_browsereval.run.trial import Trial
from pytest_browsereval.run.workplace import agent_context, open_capture
from pytest_browsereval.sites import fill

T = TypeVar("T")

_DEFAULTS: dict[str, Any] = {"agent": "noop", "dataset": [{"type": "jsonl", "path": "no-rows.jsonl"}]}
"""For tests that want a window only: an agent that does nothing, and rows that are never read."""

runs_key = pytest.StashKey[dict[str, ActiveRun]]()


def wait(config: pytest.Config, work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of this process's browser and wait for it; interruptible."""
    return _find_prefetch(config).lanes.call(work)


def _find_prefetch(config: pytest.Config) -> Prefetch:
    start(config)
    prefetch = config.pluginmanager.get_plugin("browsereval-prefetch")
    assert isinstance(prefetch, Prefetch)  # noqa: S101 registered with the session
    return prefetch


def active_run_of(config: pytest.Config, node: pytest.Item | Any) -> ActiveRun:
    """Return the active_run that a test's marker asks for, else the one of ``--eval-config``.

    The marker holds either ``config="file"`` or keys of a config; paths are relative to the test's file.

    Raises:
        pytest.UsageError: it cannot be used.
    """
    session = start(config)
    marker = node.get_closest_marker("browsereval")
    given: dict[str, Any] = dict(marker.kwargs) if marker else {}
    if marker and marker.args:
        given["dataset"] = marker.args[0]
    try:
        return _active_run(session, given, Path(node.path))
    except UsageError as error:
        raise pytest.UsageError(redact_known(f"{node.nodeid}: {error}")) from None


def _active_run(session: EvalSession, given: Mapping[str, Any], test_file: Path) -> ActiveRun:
    session.check_attempts()
    if "config" in given:
        return session.load_run(test_file.parent / given["config"])
    named = session.config.getoption("eval_config")
    if not given and len(named) == 1:
        return session.load_run(session.config.invocation_params.dir / named[0])
    made = session.config.stash.setdefault(runs_key, {})
    key = f"{test_file}: {sorted(given.items())!r}"
    if key not in made:
        block = {**_DEFAULTS, **given, "name": given.get("name", test_file.stem)}
        config = config_from(block, path=test_file, registry=session.registration.registry)
        made[key] = session.adopt(test_file / str(len(made)), config)
    return made[key]


def function_of(node: pytest.Item | Any) -> str:
    """Return the name of a test's function, with its classes: the same for all its rows."""
    classes = [parent.name for parent in node.listchain() if isinstance(parent, pytest.Class)]
    return "::".join((*classes, getattr(node, "originalname", None) or node.name))


def name_own_run(node: pytest.Item | Any, active_run: ActiveRun) -> str:
    """Return the name of a test's own runs: its file and function, behind the name of its config."""
    config, file = active_run.config, Path(node.path).with_suffix("")
    near = config.output_dir.parent
    place = file.relative_to(near) if file.is_relative_to(near) else Path(node.nodeid.partition("::")[0])
    name = f"{place.as_posix()}-{function_of(node).replace('::', '-')}"
    return name if config.name == place.name else f"{config.name}-{name}"


def claim_run(config: pytest.Config, node: pytest.Item | Any) -> str:
    """Take the folder of a test's own runs, and return its name.

    Raises:
        pytest.UsageError: another eval has it.
    """
    session, active_run = start(config), active_run_of(config, node)
    name = name_own_run(node, active_run)
    owner = f"{session.nodeid_of(Path(node.path))}::{function_of(node)}"
    try:
        session.output_folders.claim(home_of(active_run.config.output_dir, name), owner)
    except UsageError as error:
        raise pytest.UsageError(redact_known(str(error))) from None
    return name


def rows_of(config: pytest.Config, node: Any) -> list[Entry]:
    """Return the rows that a test is parametrised with.

    Raises:
        pytest.UsageError: the dataset cannot be used.
    """
    try:
        claim_run(config, node)
        return list(active_run_of(config, node).plan.entries())
    except UsageError as error:
        raise pytest.UsageError(redact_known(f"{node.nodeid}: {error}")) from None


class WindowHandle:
    """A window, and a way for a synchronous test to run coroutines in its loop."""

    def __init__(self, window: Window, config: pytest.Config) -> None:
        self._window = window
        self._config = config

    def __getattr__(self, name: str) -> Any:
        """Return what the window has."""
        return getattr(self._window, name)

    def wait(self, work: Awaitable[T]) -> T:
        """Run a coroutine on the browser's loop and return its result: ``w.wait(w.page.title())``."""

        async def run() -> T:
            return await work

        return wait(self._config, run())


@dataclass(frozen=True)
class EvalOutcome:
    """What ``run_eval`` returns."""

    metadata: TaskMetadata
    folder: Path

    @property
    def verdict(self) -> Verdict:
        """Passed, failed or errored."""
        return self.metadata.verdict

    @property
    def final_answer(self) -> str | None:
        """What the agent answered."""
        return self.metadata.final_answer

    def assert_passed(self) -> None:
        """Assert the verdict, with the whole report as message.

        Raises:
            Fault: the attempt is errored, so that nobody knows whether the agent would have failed.
        """
        self.check_judged()
        assert self.verdict is Verdict.PASSED, explain(self.metadata, self.folder)  # noqa: S101 its purpose

    def check_judged(self) -> None:
        """Raise what broke an errored attempt: an assertion about its verdict would make a failure of it.

        Raises:
            Fault: the attempt is errored.
        """
        if self.verdict is Verdict.ERRORED:
            source = self.metadata.error_source or ErrorSource.UNKNOWN
            raise Fault(source, explain(self.metadata, self.folder))


class Handwritten:
    """The window, capture and agent of one test."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._config = request.config
        self.active_run = active_run_of(request.config, request.node)
        self._session = _find_prefetch(request.config).session_of(self.active_run)
        self._stack = AsyncExitStack()
        self._window: Window | None = None
        self._capture: CaptureContext | None = None
        self._urls: Mapping[str, str] | None = None
        self._graders: tuple[GraderConfig, ...] = self.active_run.config.graders
        self._begun: list[Coroutine[Any, Any, EvalOutcome]] = []
        self._sites: frozenset[str] = frozenset(self.active_run.config.sites)
        """Those that its row uses; all of them where it has no row."""

    @classmethod
    def of(cls, request: pytest.FixtureRequest) -> Handwritten:
        """Return the object of a test."""
        return cls(request)

    def __enter__(self) -> Handwritten:
        """Open nothing yet: what a test does not ask for is not started."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the window and give the sites back."""
        if self._capture is not None:
            self._capture.close()
        if self._urls is not None or self._window is not None:
            wait(self._config, self._stack.aclose())
        self._check_awaited()

    def _check_awaited(self) -> None:
        """Have no test pass whose runs nobody has waited for: nothing was run, or its verdict never came."""
        states = [inspect.getcoroutinestate(work) for work in self._begun]
        for work, state in zip(self._begun, states, strict=True):
            if state == inspect.CORO_CREATED:
                work.close()  # nothing is left to warn of
        if any(state != inspect.CORO_CLOSED for state in states):
            name = self._request.node.nodeid
            pytest.fail(
                f"{name} did not await what run_eval returned: no verdict. Write  await run_eval(task)",
                pytrace=False,
            )

    # -- what the fixtures return

    def task(self, entry: Entry | None) -> Task:
        """Return the row of a parametrised test, its placeholders filled."""
        if entry is None:
            raise pytest.UsageError(
                f"{self._request.node.nodeid}: eval_task needs rows. "
                'Write @pytest.mark.browsereval(dataset="rows.jsonl") or (config="eval.yaml").'
            )
        try:
            ready = self.active_run.plan.ready(entry)
            if self._session.toolsets.by_variant:  # else the browser brings them and has not been asked yet
                self.active_run.plan.check_agent(ready, entry, self._session.toolsets)
        except UsageError as error:
            raise pytest.UsageError(redact_known(str(error))) from None
        self._graders = ready.graders
        used = self._session.toolsets.sites_used(ready.task, self.active_run.config.sites)
        self._sites = frozenset(used)
        return Task.model_validate(fill(ready.task.model_dump(), self._site_urls()))

    def _site_urls(self) -> Mapping[str, str]:
        if self._urls is None:

            async def lease() -> Mapping[str, str]:
                services = await self._session.services()
                urls = await self._stack.enter_async_context(services.sites.lease(services.config.sites))
                return dict(urls)

            self._urls = wait(self._config, lease()) if self.active_run.config.sites else {}
        return self._urls

    def open_window(self, task: Task | None) -> WindowHandle:
        """Open the test's window."""
        key = self._request.node.nodeid

        async def create() -> Window:
            services = await self._session.services()
            window = await services.windows.create_window(
                key, task.start_url if task else None, task.setup_script if task else None
            )
            self._stack.push_async_callback(services.windows.close_window, key)
            return window

        self._window = wait(self._config, create())
        return WindowHandle(self._window, self._config)

    def capture(self) -> CaptureContext:
        """Return the recorder of the test's window."""
        assert self._window is not None  # noqa: S101 the fixture asks for the window first
        folder = Path(self._request.getfixturevalue("tmp_path")) / "attempt"
        folder.mkdir(exist_ok=True)
        active_run = self.active_run
        self._capture = open_capture(active_run.config, self._window, folder, redact=active_run.redact)
        return self._capture

    def agent(self, task: Task) -> AgentEvaluator:
        """Return the config's first agent, ready to execute in the test's window."""
        assert self._capture is not None  # noqa: S101 the fixture asks for it first
        config, toolsets = self.active_run.config, self._session.toolsets
        variant, agent = next(iter(config.variants.items()))
        ask = self.active_run.spec.behaviour.tool_call
        context = agent_context(
            config,
            agent,
            task,
            tools=toolsets.tools_for(variant, self._sites),
            capture=self._capture,
            output_dir=self._capture.config.folder.parent,
        )
        if ask is not None:
            context.tools.guard = CallGuard(ask, task, self._capture.window, self._request.node.nodeid)
        return agent.build(replace(context, kits=toolsets.kits_for(self._sites)))

    def run(self, task: Task, *, raises: bool = True) -> Any:
        """Run a task from start to verdict; returns an ``EvalOutcome``, or its awaitable on the loop.

        Args:
            task: the row.
            raises: raise a ``Fault`` if the attempt is errored, instead of returning it.
        """

        async def whole() -> EvalOutcome:
            self.active_run.budget.check()
            services = await self._session.services()
            name = claim_run(self._config, self._request.node)
            store = self.active_run.own_runs.of(name, self._session.manifest)
            variant, agent = next(iter(self.active_run.config.variants.items()))
            key, node_id = new_trial(store, task.query_id, variant), self._request.node.nodeid
            trial = Trial(key, task, self._graders, agent, is_output_passed_on=True, sites=self._sites)
            services = replace(services, store=store)
            record, tries = await attempt(trial, services, node_id), 1
            while await is_retried(record, services, trial, tries):
                record, tries = await attempt(trial, services, node_id), tries + 1
            outcome = EvalOutcome(record.metadata, record.folder)
            if raises:
                outcome.check_judged()
            return outcome

        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return wait(self._config, whole())
        self._begun.append(work := whole())
        return work
