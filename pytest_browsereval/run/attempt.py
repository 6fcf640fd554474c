"""One attempt, end to end: sites, window, capture, agent, evidence, grades, verdict, files."""

from __future__ import annotations

import asyncio
import functools
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from pytest_browsereval.agents.base import AgentConfig, AgentContext, AgentEvaluator
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.windows import WindowManager
from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.capture.trajectory import TrajectorySaver
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.errors import ErrorSource, Fault, LimitReached, StopRun, TerminationReason
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.graders.verdicts import combine
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import Message, now
from pytest_browsereval.model.results import AgentResult, TaskError, TaskMetadata
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.run.deadline import Overran, within
from pytest_browsereval.run.store import AttemptFolder, RunStore, TrialKey
from pytest_browsereval.run.workplace import agent_context, open_capture
from pytest_browsereval.sites import Sites, fill, names_in
from pytest_browsereval.tools.base import Tool

GRADER_TIMEOUT_S = 300.0
"""A grader that has not answered by then is errored; its own limits are usually much shorter."""
OBSERVE_TIMEOUT_S = 30.0
"""The same for what a grader reads from the live page."""


@dataclass
class Behaviour:
    """What plug-ins change about an attempt; None leaves a thing as it is."""

    modify_task: Callable[[Task], Task] | None = None
    window_opened: Callable[[Window, Task], object] | None = None
    create_agent: Callable[[AgentContext], AgentEvaluator | None] | None = None
    message: Callable[[str, Message], object] | None = None
    """Told of every message with the attempt's node id."""
    grade: Callable[[GraderConfig, Recorded], GraderResult | None] | None = None
    """Its answer, unless None, stands in for the grader's."""


@dataclass(frozen=True)
class Services:
    """What the attempts of a process share."""

    config: EvalConfig
    store: RunStore
    sites: Sites
    windows: WindowManager
    tools: tuple[Tool, ...]
    behaviour: Behaviour
    redact: Callable[[str], str] = str


@dataclass(frozen=True)
class Job:
    """Which attempt to make."""

    node_id: str
    key: TrialKey
    task: Task
    graders: tuple[GraderConfig, ...]
    agent: AgentConfig


@dataclass
class Progress:
    """What an attempt has come to so far; becomes its metadata."""

    started_at: str = field(default_factory=now)
    started: float = field(default_factory=time.perf_counter)
    agent_ms: float = 0.0
    grading_ms: float = 0.0
    result: AgentResult = field(default_factory=lambda: AgentResult(None, TerminationReason.ERROR))
    fault: Fault | None = None
    final_url: str | None = None
    start_url: str | None = None
    evidence: dict[str, JsonValue] = field(default_factory=dict)
    unobserved: dict[str, str] = field(default_factory=dict)
    """Graders that could not observe the page, and why."""
    grades: dict[str, GraderResult] = field(default_factory=dict)
    errors: tuple[TaskError, ...] = ()


async def run_attempt(job: Job, services: Services) -> tuple[TaskMetadata, AttemptFolder]:
    """Make one attempt and record it; one that meets a ``StopRun`` is recorded as errored too.

    Returns:
        Its metadata, which is on disk already, and its folder.

    Raises:
        OSError: the run folder cannot be written.
    """
    folder = services.store.begin_attempt(job.key, job.node_id)
    attempt = _Attempt(job, services, folder)
    try:
        await attempt.run()
    except Fault as error:
        attempt.progress.fault = error
    except asyncio.CancelledError:
        folder.finished()  # given up, not in flight: without metadata it does not count
        raise
    except Exception as error:  # noqa: BLE001 whatever breaks, the attempt is recorded
        attempt.progress.fault = Fault(ErrorSource.HARNESS, _told(error))
    return attempt.save(), folder


def record_fault(job: Job, services: Services, fault: Fault) -> tuple[TaskMetadata, AttemptFolder]:
    """Record an attempt that could not be finished by itself: its process died, its loop was stuck.

    Raises:
        OSError: the run folder cannot be written.
    """
    folder = services.store.begin_attempt(job.key, job.node_id)
    attempt = _Attempt(job, services, folder)
    attempt.progress.fault = fault
    return attempt.save(), folder


def _told(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{where}"


class _Attempt:
    def __init__(self, job: Job, services: Services, folder: AttemptFolder) -> None:
        self.job = job
        self.services = services
        self.folder = folder
        self.progress = Progress()
        self.saver = TrajectorySaver(folder.path, redact=services.redact)
        self.capture: CaptureContext | None = None

    # -- the course of an attempt

    async def run(self) -> None:
        config = self.services.config
        if modify := self.services.behaviour.modify_task:
            self.job = replace(self.job, task=modify(self.job.task))
        text = self.job.task.model_dump_json() + "".join(g.model_dump_json() for g in self.job.graders)
        names = names_in(text) & set(config.sites)
        async with self.services.sites.lease(names) as urls:
            task = Task.model_validate(fill(self.job.task.model_dump(), urls))
            graders = [type(g).model_validate(fill(g.model_dump(), urls)) for g in self.job.graders]
            self.progress.start_url = task.start_url
            await self._in_window(task, graders, urls)
            if self.progress.fault is None:
                await self._grade(task, graders, urls)

    async def _in_window(self, task: Task, graders: list[GraderConfig], urls: Mapping[str, str]) -> None:
        windows, key = self.services.windows, str(self.folder.path)
        try:
            window = await windows.create_window(key, task.start_url, task.setup_script)
            self.capture = self._open_capture(window)
            try:
                if opened := self.services.behaviour.window_opened:
                    opened(window, task)
                await self._agent(task, window)
                await self._observe(task, graders, window, urls)
            finally:
                self.progress.final_url = window.url or None
                self.progress.errors = self.capture.errors
                self.capture.close()
        finally:
            await windows.close_window(key)

    def _open_capture(self, window: Window) -> CaptureContext:
        tell, services = self.services.behaviour.message, self.services
        return open_capture(
            services.config,
            window,
            self.folder.path,
            redact=services.redact,
            on_message=None if tell is None else functools.partial(tell, self.job.node_id),
        )

    async def _agent(self, task: Task, window: Window) -> None:
        capture, services = self._recording(), self.services
        context = agent_context(
            services.config,
            self.job.agent,
            task,
            tools=services.tools,
            capture=capture,
            output_dir=services.store.root,
        )
        capture.log_user(task.query)
        started = time.perf_counter()
        try:
            self.progress.result = await self._limited(context)
        finally:
            self.progress.agent_ms = (time.perf_counter() - started) * 1000
            await capture.final_picture()
        if window.dead:
            raise Fault(ErrorSource.BROWSER, window.dead)

    async def _limited(self, context: AgentContext) -> AgentResult:
        """Run the agent within its limits; a limit is a result, anything else that breaks a fault."""
        limit_ms = self.services.config.limits.timeout_ms
        try:
            result = await within(limit_ms / 1000, self._play(context))
        except LimitReached as limit:
            return self._stopped(context, limit.reason, str(limit))
        except Overran as overran:
            late = "; it did not end when it was cancelled, and was left behind" * overran.is_left_behind
            return self._stopped(context, TerminationReason.TIMEOUT, f"limits.timeout_ms is {limit_ms}{late}")
        for message in result.messages:
            self._recording().log(message)
        return result

    def _stopped(self, context: AgentContext, reason: TerminationReason, why: str) -> AgentResult:
        self._recording().add_warning(ErrorSource.AGENT, f"stopped: {why}")
        return AgentResult(context.tools.answer, reason)

    async def _play(self, context: AgentContext) -> AgentResult:
        try:
            return await self._evaluator(context).execute()
        except (Fault, LimitReached):
            raise
        except (Exception, SystemExit) as error:  # sys.exit() in an agent must not end the loop
            if context.window.dead:
                raise Fault(ErrorSource.BROWSER, context.window.dead) from error
            raise Fault(ErrorSource.AGENT, f"the agent raised {_told(error)}") from error

    def _evaluator(self, context: AgentContext) -> AgentEvaluator:
        create = self.services.behaviour.create_agent
        return (create(context) if create else None) or self.job.agent.build(context)

    def _recording(self) -> CaptureContext:
        assert self.capture is not None  # noqa: S101 set before the agent is built
        return self.capture

    # -- grading

    async def _observe(
        self, task: Task, graders: list[GraderConfig], window: Window, urls: Mapping[str, str]
    ) -> None:
        for grader in graders:
            try:
                async with asyncio.timeout(OBSERVE_TIMEOUT_S):
                    seen = await grader.observe(window, task, urls)
            except Exception as error:  # noqa: BLE001 the grade errs, the attempt is recorded
                why = str(error) if isinstance(error, Fault) else _told(error)
                self.progress.unobserved[grader.label] = why
            else:
                if seen is not None:
                    self.progress.evidence[grader.label] = seen

    async def _grade(self, task: Task, graders: list[GraderConfig], urls: Mapping[str, str]) -> None:
        self.saver.save_evidence(self.progress.evidence)
        recorded = Recorded(
            task=task,
            final_answer=self.progress.result.final_answer,
            termination_reason=self.progress.result.termination_reason,
            final_url=self.progress.final_url,
            folder=self.folder.path,
            evidence=self.progress.evidence,
            site_urls=urls,
            base_dir=self.services.config.base_dir,
        )
        started = time.perf_counter()
        for grader in graders:
            self.progress.grades[grader.label] = await self._graded(grader, recorded)
        self.progress.grading_ms = (time.perf_counter() - started) * 1000
        self.saver.save_grades(self.progress.grades)

    async def _graded(self, grader: GraderConfig, recorded: Recorded) -> GraderResult:
        started = time.perf_counter()
        try:
            result = await self._asked(grader, recorded)
        except (Exception, SystemExit) as error:  # noqa: BLE001 a grader that cannot judge errs, never scores 0
            why = str(error) if isinstance(error, Fault) else _told(error)
            result = GraderResult(grader=grader.label, verdict=Verdict.ERRORED, reasoning=why)
        return result.model_copy(update={"duration_ms": round((time.perf_counter() - started) * 1000, 3)})

    async def _asked(self, grader: GraderConfig, recorded: Recorded) -> GraderResult:
        if why := self.progress.unobserved.get(grader.label):
            raise Fault(ErrorSource.GRADER, f"the final page could not be read: {why}")
        stand_in = self.services.behaviour.grade
        if stand_in and (result := stand_in(grader, recorded)) is not None:
            return result
        async with asyncio.timeout(GRADER_TIMEOUT_S):
            return await grader.grade(recorded)

    # -- the record

    def save(self) -> TaskMetadata:
        """Decide the verdict and write the metadata; returns it."""
        progress, capture = self.progress, self.capture
        verdict, source, reason = self._verdict()
        errors = progress.errors
        if progress.fault is not None:
            text = self.services.redact(str(progress.fault))
            errors = (*errors, TaskError(source=progress.fault.source, message=text, timestamp=now()))
        task, key = self.job.task, self.job.key
        usage = capture.usage if capture else Usage()
        metadata = TaskMetadata(
            query_id=task.query_id,
            dataset=task.dataset,
            query=task.query,
            variant=key.variant,
            trial=key.trial,
            attempt=self.folder.number,
            node_id=self.job.node_id,
            tags=task.tags,
            website=task.metadata.website,
            row_hash=task.content_hash(),
            start_url=progress.start_url,
            started_at=progress.started_at,
            completed_at=now(),
            total_duration_ms=round((time.perf_counter() - progress.started) * 1000, 3),
            agent_duration_ms=round(progress.agent_ms, 3),
            grading_duration_ms=round(progress.grading_ms, 3),
            total_steps=capture.steps if capture else 0,
            screenshot_count=capture.screenshot.count if capture else 0,
            termination_reason=TerminationReason.ERROR
            if progress.fault
            else progress.result.termination_reason,
            final_answer=progress.result.final_answer,
            errors=errors,
            warnings=capture.warnings if capture else (),
            agent_config=self.job.agent.model_dump(mode="json"),
            grader_results=progress.grades,
            usage=usage,
            cost_usd=self._cost(usage),
            verdict=verdict,
            error_source=source,
            stops_run=isinstance(progress.fault, StopRun),
            reason=self.services.redact(reason),
            final_url=progress.final_url,
        )
        metadata = self.saver.save_metadata(metadata)
        self.folder.finished()
        return metadata

    def _verdict(self) -> tuple[Verdict, ErrorSource | None, str]:
        if self.progress.fault is not None:
            return Verdict.ERRORED, self.progress.fault.source, str(self.progress.fault)
        return combine(self.progress.grades, self.services.config.pass_when)

    def _cost(self, usage: Usage) -> float | None:
        parts = [usage.cost_usd if usage.requests else 0.0]
        parts += [g.cost_usd for g in self.progress.grades.values() if g.cost_usd is not None]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None


async def run_trial(job: Job, services: Services, *, retries: int) -> tuple[TaskMetadata, AttemptFolder]:
    """Attempt a trial until it is passed or failed, at most ``1 + retries`` times.

    Only an *errored* attempt is followed by another one; every attempt stays in the run folder.

    Raises:
        OSError: the run folder cannot be written.
    """
    metadata, folder = await run_attempt(job, services)
    for _ in range(retries):
        if metadata.verdict is not Verdict.ERRORED or metadata.stops_run:
            break
        metadata, folder = await run_attempt(job, services)
    return metadata, folder
