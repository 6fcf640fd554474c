"""One attempt, end to end: sites, window, capture, agent, evidence, grades, verdict, files."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_browsereval.agents.base import AgentConfig, AgentContext, AgentEvaluator
from pytest_browsereval.agents.playing import play
from pytest_browsereval.browsers.base import Window, WindowTraffic
from pytest_browsereval.browsers.playwright.manager import WindowManager
from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.capture.har import record_traffic
from pytest_browsereval.capture.message_log import log_last
from pytest_browsereval.capture.output import OUTPUT_FILE, AttemptOutput, keep_output
from pytest_browsereval.capture.recording import Recording, record_attempt
from pytest_browsereval.capture.tracebacks import details_of
from pytest_browsereval.capture.trajectory import TrajectorySaver
from pytest_browsereval.config import EvalConfig
from pytest_browsereval.deadline import Overran, within
from pytest_browsereval.errors import (
    PLUGIN_ERRORS,
    ErrorSource,
    Fault,
    LimitReached,
    RunStopped,
    TerminationReason,
    describe_error,
    is_given_up,
)
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.graders.evaluation import limit_evaluations
from pytest_browsereval.graders.observations import observation_keys
from pytest_browsereval.graders.parts import fill_sites
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.messages import ErrorMessage, now
from pytest_browsereval.model.results import AgentResult, TaskError, TaskMetadata
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.traffic import Traffic
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.needs import merge_needs
from pytest_browsereval.replay.calls import AttemptCalls, CallReplayer
from pytest_browsereval.replay.cassettes import Cassettes, PageTraffic
from pytest_browsereval.replay.masking import make_mask
from pytest_browsereval.run.behaviour import Behaviour
from pytest_browsereval.run.budget import Budget
from pytest_browsereval.run.control import Control
from pytest_browsereval.run.grading import decide, grade_all, total_cost
from pytest_browsereval.run.guard import CallGuard, MessageListener
from pytest_browsereval.run.outages import Outages
from pytest_browsereval.run.progress import Progress
from pytest_browsereval.run.store import AttemptFolder, RunStore, TrialKey
from pytest_browsereval.run.toolsets import Toolsets
from pytest_browsereval.run.workplace import agent_context, open_capture
from pytest_browsereval.sites import Sites, fill, names_in

LIMITS = (TerminationReason.MAX_STEPS, TerminationReason.TIMEOUT, TerminationReason.BUDGET)

OBSERVE_TIMEOUT_S = 30.0
"""A grader that has not read what it needs of the live page by then is errored."""


@dataclass(frozen=True)
class Services:
    """What the attempts of a process share."""

    config: EvalConfig
    store: RunStore
    sites: Sites
    windows: WindowManager
    toolsets: Toolsets
    behaviour: Behaviour
    budget: Budget
    control: Control
    outages: Outages
    cassettes: Cassettes
    redact: Callable[[str], str] = str


@dataclass(frozen=True)
class Job:
    """Which attempt to make."""

    node_id: str
    key: TrialKey
    task: Task
    graders: tuple[GraderConfig, ...]
    agent: AgentConfig
    is_output_passed_on: bool = False
    """Whether what it prints goes on to whoever captures, as the output of a test does."""
    sites: frozenset[str] = frozenset()
    """Sites that the row uses, beside those that it names: placeholders may have been filled in before."""


async def run_attempt(job: Job, services: Services) -> tuple[TaskMetadata, AttemptFolder]:
    """Make one attempt and record it; one that meets a ``StopRun`` is recorded as errored too.

    Returns:
        Its metadata, which is on disk already, and its folder.

    Raises:
        RunStopped: it met what has stopped the run meanwhile, and nothing was paid for it.
        OSError: the run folder cannot be written.
    """
    folder = services.store.begin_attempt(job.key, job.node_id)
    attempt = _Attempt(job, services, folder)
    file, is_passed_on = folder.path / OUTPUT_FILE, job.is_output_passed_on
    try:
        with (
            keep_output(file, services.redact, is_passed_on=is_passed_on) as attempt.output,
            services.cassettes.intercept_calls(job.key.cassette) as attempt.calls,
        ):
            await attempt.run()
    except Fault as error:
        attempt.progress.fault = error
    except PLUGIN_ERRORS as error:  # whatever breaks, the attempt is recorded
        if is_given_up(error):
            folder.finish()  # not in flight: without metadata it does not count
            raise
        attempt.progress.fault = Fault(ErrorSource.HARNESS, describe_error(error))
        attempt.progress.fault.__cause__ = error
    try:
        attempt.count_outage()
    except RunStopped:
        folder.finish()
        raise
    metadata = attempt.save()
    services.cassettes.save(job.key.cassette, metadata, attempt.calls, attempt.traffic.recording)
    return metadata, folder


def record_fault(job: Job, services: Services, fault: Fault) -> tuple[TaskMetadata, AttemptFolder]:
    """Record an attempt that could not be finished by itself: its process died, its loop was stuck.

    Raises:
        OSError: the run folder cannot be written.
    """
    folder = services.store.begin_attempt(job.key, job.node_id)
    attempt = _Attempt(job, services, folder)
    attempt.progress.fault = fault
    return attempt.save(), folder


class _Attempt:
    def __init__(self, job: Job, services: Services, folder: AttemptFolder) -> None:
        self.job = job
        self.row_hash = job.task.content_hash()
        """Of the row as it was read: what plug-ins make of it is code, as the agent is."""
        self.services = services
        self.folder = folder
        self.progress = Progress()
        self.saver = TrajectorySaver(
            folder.path,
            redact=services.redact,
            synced_from=services.store.synced_from,
            on_record=services.store.records.note,
        )
        self.capture: CaptureContext | None = None
        self.output: AttemptOutput | None = None
        self.calls: AttemptCalls | None = None
        self.traffic = PageTraffic()
        self.recording: Recording | None = None
        tell = services.behaviour.message
        self.listener = None if tell is None else MessageListener(tell, job.node_id)

    # -- the course of an attempt

    async def run(self) -> None:
        config = self.services.config
        if modify := self.services.behaviour.modify_task:
            self.job = replace(self.job, task=modify(self.job.task))
        text = self.job.task.model_dump_json() + "".join(g.model_dump_json() for g in self.job.graders)
        names = (names_in(text) | set(self.job.task.sites)) & set(config.sites)
        async with self.services.sites.lease(names) as urls:
            task = Task.model_validate(fill(self.job.task.model_dump(), urls))
            graders = [fill_sites(grader, urls) for grader in self.job.graders]
            self.progress.start_url = task.start_url
            async with self._record():
                await self._in_window(task, graders, urls)
                if self.progress.fault is None:
                    await self._grade(task, graders, urls)

    @asynccontextmanager
    async def _record(self) -> AsyncIterator[None]:
        """Record what is recorded of the window as a whole; it is kept by the verdict."""
        wanted = self.services.config.capture
        if wanted.trace == "off" and not wanted.console:
            yield
            return
        keep = record_attempt(
            self.folder.path, trace=wanted.trace, console=wanted.console, redact=self.services.redact
        )
        try:
            async with keep as self.recording:
                yield
                self.recording.has_passed = self._verdict()[0] is Verdict.PASSED
        finally:
            for warning in self.recording.warnings if self.recording and self.capture else ():
                self._recording().add_warning(ErrorSource.BROWSER, warning)

    async def _in_window(self, task: Task, graders: list[GraderConfig], urls: Mapping[str, str]) -> None:
        services, key = self.services, self.job.key
        if not services.config.capture.har:
            await self._with_window(task, graders, urls)
            return
        wanted = merge_needs(grader.needs(task) for grader in graders).traffic or Traffic()
        async with (
            services.cassettes.intercept_pages(key.cassette, urls.values()) as self.traffic,
            record_traffic(self.folder.path, wanted, services.redact, self.traffic.keep) as har,
        ):
            try:
                await self._with_window(task, graders, urls, har)
            except Fault as error:  # a start page that was not recorded does not load
                raise self.traffic.fault() or error from None

    async def _with_window(
        self, task: Task, graders: list[GraderConfig], urls: Mapping[str, str], har: Path | None = None
    ) -> None:
        windows, key = self.services.windows, str(self.folder.path)
        try:
            window = await windows.create_window(
                key,
                task.start_url,
                task.setup_script,
                wants_cdp=self.job.agent.needs().cdp,
                traffic=WindowTraffic(har, self.traffic.answers),
                opened=None if self.recording is None else self.recording.begin,
            )
            self.capture = self._open_capture(window)
            try:
                if opened := self.services.behaviour.window_opened:
                    opened(window, task)
                await self._agent(task, window)
                if self.recording is not None:
                    await self.recording.end()
                await self._observe(task, graders, window, urls)
            finally:
                self.progress.final_url = window.url or None
                self.progress.errors = self.capture.errors
                self.capture.close()
        finally:
            await windows.close_window(key)

    def _open_capture(self, window: Window) -> CaptureContext:
        services = self.services
        return open_capture(
            services.config, window, self.folder.path, redact=services.redact, on_message=self.listener
        )

    async def _agent(self, task: Task, window: Window) -> None:
        capture, services = self._recording(), self.services
        ask, toolsets = services.behaviour.tool_call, services.toolsets
        sites = self.job.sites | toolsets.sites_used(self.job.task, services.config.sites)
        context = agent_context(
            services.config,
            self.job.agent,
            task,
            tools=toolsets.tools_for(self.job.key.variant, sites),
            capture=capture,
            output_dir=services.store.root,
        )
        guard = context.tools.guard = CallGuard(ask, task, window, self.job.node_id) if ask else None
        capture.log_user(task.query)
        started = time.perf_counter()
        try:
            result = await self._run_limited(replace(context, kits=toolsets.kits_for(sites)))
            answer = capture.sizes.fit(result.final_answer)
            self.progress.result = replace(result, final_answer=answer)
        finally:
            self.progress.agent_ms = (time.perf_counter() - started) * 1000
            await capture.final_picture()
        await window.look()  # nothing is judged in a browser that has died unnoticed
        if window.dead:
            raise Fault(ErrorSource.BROWSER, window.dead)
        broken = (hook.fault for hook in (guard, self.listener) if hook)  # which an agent may have caught
        if fault := self.traffic.fault() or next(filter(None, broken), None):
            raise fault

    async def _run_limited(self, context: AgentContext) -> AgentResult:
        """Run the agent within its limits; a limit is a result, anything else that breaks a fault."""
        limit_ms = self.services.config.limits.timeout_ms
        try:
            result = await within(limit_ms / 1000, play(context, self._evaluator, "the agent"))
        except LimitReached as limit:
            return self._record_stop(AgentResult(context.tools.answer, limit.reason, note=str(limit)))
        except Overran as overran:
            late = "; it did not end when it was cancelled, and was left behind" * overran.is_left_behind
            why = f"limits.timeout_ms is {limit_ms}{late}"
            return self._record_stop(AgentResult(context.tools.answer, TerminationReason.TIMEOUT, note=why))
        for message in result.messages:
            self._recording().log(message)
        if result.termination_reason in LIMITS:
            return self._record_stop(result)
        if result.note:
            self._recording().add_warning(ErrorSource.AGENT, result.note)
        return result

    def _record_stop(self, result: AgentResult) -> AgentResult:
        """Record which limit ended the agent: the log ends with it, and so does the reason of a failure."""
        self.progress.limit = result.note or f"{result.termination_reason}, by the agent's own account"
        self._recording().add_error(ErrorSource.AGENT, f"stopped: {self.progress.limit}")
        return result

    def _evaluator(self, context: AgentContext) -> AgentEvaluator:
        create = self.services.behaviour.create_agent
        made = create(context) if create else None
        return self.job.agent.build(context) if made is None else made

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
                    with limit_evaluations(OBSERVE_TIMEOUT_S):
                        seen = await grader.observe(window, task, urls)
            except PLUGIN_ERRORS as error:  # the grade errs, the attempt is recorded
                if is_given_up(error):
                    raise
                self.progress.unobserved[grader.label] = describe_error(error)
                self.progress.unobserved_details[grader.label] = details_of(error)
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
            judge=self.services.config.judge,
            started_at=self.progress.started_at,
            agent_duration_ms=round(self.progress.agent_ms, 3),
            usage=self.capture.usage if self.capture else Usage(),
            redact=self.services.redact,
        )
        stand_in, unobserved = self.services.behaviour.grade, self.progress.unobserved
        keys = observation_keys(graders, task, self.services.redact)
        self.saver.save_task(task, graders, urls, unobserved, row_hash=self.row_hash, observed=keys)
        if self.calls is not None:
            self.calls.judge_mask = make_mask(task, self.job.task)
        grading = await grade_all(graders, recorded, unobserved=unobserved, stand_in=stand_in)
        grading.add_details(self.progress.unobserved_details, task)
        self.progress.grading = grading
        self.saver.save_grades(grading.grades)

    # -- the record

    def count_outage(self) -> None:
        """Have the run stop where a second row met that a site or a model does not answer.

        Raises:
            RunStopped: it has stopped for that already, and this attempt has cost nothing.
        """
        is_free = self.capture is None or not self.capture.usage.requests
        fault, outages = self.progress.fault, self.services.outages
        self.progress.fault = outages.count(self.job.key, fault, is_free=is_free)
        grading = self.progress.grading
        grading.is_unanswered = outages.count_grades(self.job.key, grading.grades.values())

    def save(self) -> TaskMetadata:
        """Decide the verdict and write the metadata; returns it."""
        progress, capture = self.progress, self.capture
        if self.services.store.root.is_dir() and not self.folder.path.is_dir():
            self.folder.path.mkdir(parents=True)  # the run goes on, whoever it was
            lost = "the attempt's folder was removed while it ran, with all that was recorded of it"
            progress.fault = Fault(ErrorSource.AGENT, lost)
        verdict, source, reason = self._verdict()
        self._warn()
        errors = progress.errors + (() if progress.fault is None else (self._log_fault(progress.fault),))
        task, key = self.job.task, self.job.key
        usage = capture.usage if capture else Usage()
        metadata = TaskMetadata(
            query_id=key.query_id,
            dataset=task.dataset,
            query=task.query,
            variant=key.variant,
            trial=key.trial,
            attempt=self.folder.number,
            node_id=self.job.node_id,
            tags=task.tags,
            website=task.metadata.website,
            row_hash=self.row_hash,
            replayed=self._is_replayed,
            start_url=progress.start_url,
            started_at=progress.started_at,
            completed_at=now(),
            total_duration_ms=round((time.perf_counter() - progress.started) * 1000, 3),
            agent_duration_ms=round(progress.agent_ms, 3),
            grading_duration_ms=round(progress.grading.duration_ms, 3),
            total_steps=capture.steps if capture else 0,
            screenshot_count=capture.screenshot.count if capture else 0,
            termination_reason=TerminationReason.ERROR
            if progress.fault
            else progress.result.termination_reason,
            final_answer=progress.result.final_answer,
            errors=errors,
            warnings=capture.warnings if capture else (),
            agent_config=self.job.agent.model_dump(mode="json"),
            grader_results=progress.grading.grades,
            usage=usage,
            usage_by_role=capture.usage_by_role if capture else {},
            cost_usd=total_cost(usage, progress.grading.grades.values()),
            verdict=verdict,
            error_source=source,
            stops_run=self.services.outages.ends_run(progress.fault, grading_does=progress.grading.stops_run),
            reason=self.services.redact(reason),
            limit=self.services.redact(progress.limit),
            final_url=progress.final_url,
        )
        metadata = self.saver.save_metadata(metadata)
        self.services.budget.note_payment(self.folder.path, 0.0 if self._is_replayed else metadata.cost_usd)
        self.folder.finish()
        return metadata

    def _log_fault(self, fault: Fault) -> TaskError:
        """Write what broke as the last line of the log, which may not be open, or never was; return it."""
        text = self.services.redact(str(fault))
        line = ErrorMessage(content=text, error_code=str(fault.source))
        try:
            log_last(self.folder.path, line, redact=self.services.redact, on_message=self.listener)
        except PLUGIN_ERRORS as error:  # a full disk, or what was told of the message: the verdict stands
            if self.capture:
                self.capture.add_warning(
                    ErrorSource.MESSAGE_LOGGING, f"of the last line: {describe_error(error)}"
                )
        details = details_of(fault)
        return TaskError(source=fault.source, message=text, timestamp=line.timestamp, details=details)

    def _warn(self) -> None:
        """Add what has come to light only now."""
        if self.capture is None:
            return
        missed = (self.calls.warning() if self.calls else None, self.traffic.warning())
        for warning in filter(None, missed):
            if self.progress.fault is None:
                self.capture.add_warning(ErrorSource.REPLAY, warning)
        if self.output is not None and self.output.trouble is not None:
            message = f"a part of the output was not kept: {self.output.trouble}"
            self.capture.add_warning(ErrorSource.HARNESS, message)

    @property
    def _is_replayed(self) -> bool:
        return isinstance(self.calls, CallReplayer)

    def _verdict(self) -> tuple[Verdict, ErrorSource | None, str]:
        if self.progress.fault is not None:
            return Verdict.ERRORED, self.progress.fault.source, str(self.progress.fault)
        return decide(self.progress.grading.grades, self.services.config.pass_when, self.progress.limit)


async def run_trial(job: Job, services: Services, *, retries: int) -> tuple[TaskMetadata, AttemptFolder]:
    """Attempt a trial until it is passed or failed, at most ``1 + retries`` times.

    Only an *errored* attempt is followed by another one, if the budget allows and nobody has called it off;
    every attempt stays in the run folder.

    Raises:
        RunStopped: the first one met what has stopped the run meanwhile.
        OSError: the run folder cannot be written.
    """
    metadata, folder = await run_attempt(job, services)
    for _ in range(retries):
        if metadata.verdict is not Verdict.ERRORED or metadata.stops_run:
            break
        if await services.control.why_not(job.key) or services.budget.over() or services.outages.over():
            break
        metadata, folder = await run_attempt(job, services)
    return metadata, folder
