"""One attempt, end to end: sites, window, capture, agent, evidence, grades, verdict, files."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import JsonValue

from pytest_browsereval.agents.base import AgentContext, AgentEvaluator
from pytest_browsereval.agents.playing import play
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.capture.har import record_traffic
from pytest_browsereval.capture.message_log import log_last
from pytest_browsereval.capture.output import OUTPUT_FILE, AttemptOutput, keep_output
from pytest_browsereval.capture.recording import WindowRecording
from pytest_browsereval.capture.tracebacks import details_of
from pytest_browsereval.capture.trajectory import TrajectorySaver
from pytest_browsereval.datasets.ids import name_attempt
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
from pytest_browsereval.graders.base import GraderConfig, Recorded, find_requests
from pytest_browsereval.graders.expression import limit_evaluations
from pytest_browsereval.graders.nested import fill_sites, observation_keys
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.messages import ErrorMessage, now
from pytest_browsereval.model.probe import Probe
from pytest_browsereval.model.results import AgentResult, TaskError, make_metadata
from pytest_browsereval.model.spans import in_span, name_trace
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.traffic import Traffic
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.needs import merge_needs
from pytest_browsereval.redaction.config import hide_logins
from pytest_browsereval.redaction.text import map_texts
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.behaviour import HookFollower, MessageListener, call_all
from pytest_browsereval.run.cassettes import InterceptedCalls, PageTraffic, name_cassette
from pytest_browsereval.run.ending import Ending
from pytest_browsereval.run.grading import Grading, decide, find_broken_page, grade_all, total_cost
from pytest_browsereval.run.plan import Trial
from pytest_browsereval.run.session import Session
from pytest_browsereval.run.start_page import await_ready
from pytest_browsereval.run.store import AttemptRecord, RunStore
from pytest_browsereval.run.workplace import agent_context, guard_calls, open_capture, read_figures
from pytest_browsereval.sites import fill, names_in
from pytest_browsereval.tools.base import DONE, ToolContext

LIMITS = (TerminationReason.MAX_STEPS, TerminationReason.TIMEOUT, TerminationReason.BUDGET)
OBSERVE_TIMEOUT_S = 30.0
"""A grader that has not read what it needs of the live page by then is errored."""


async def attempt(  # noqa: C901, PLR0912, PLR0915 as it happens
    trial: Trial, session: Session, node_id: str, store: RunStore | None = None
) -> AttemptRecord:
    """Make one attempt and record it; one that meets a ``StopRun`` is recorded as errored too.

    Args:
        trial: what is attempted.
        session: what it shares with other attempts.
        node_id: of its item.
        store: of a hand-written test, which has a run of its own.

    Returns:
        What is on disk of it already.

    Raises:
        RunStopped: it met what has stopped the run meanwhile, and nothing was paid for it.
        OSError: the run folder cannot be written.
    """
    run, cassette, windows = session.run, name_cassette(trial.key), session.windows
    config, redact, behaviour = run.config, run.redact, run.behaviour
    course = Course(trial, run, node_id, store or run.store)
    folder = course.folder
    try:
        async with AsyncExitStack() as stack:
            stack.enter_context(in_span("", course.name_trace()))
            # From here on, what it prints is kept, and the calls of its models are recorded or replayed.
            kept = keep_output(folder.path / OUTPUT_FILE, redact, is_passed_on=trial.is_output_passed_on)
            course.output = stack.enter_context(kept)
            course.calls = stack.enter_context(session.cassettes.intercept_calls(cassette))
            if behaviour.modify_task:
                course.row = behaviour.modify_task(trial.task)
            text = course.row.model_dump_json() + "".join(one.model_dump_json() for one in trial.graders)
            names = (names_in(text) | set(course.row.sites)) & (config.sites.keys() - trial.site_urls.keys())
            leased = await stack.enter_async_context(
                session.sites.lease(names, needs_reset=course.row.requires_reset)
            )
            task = course.fill({**trial.site_urls, **leased})
            course.site_data = session.sites.find_data(course.urls)
            record_window = behaviour.record_window
            if record_window and (recording := record_window(config, folder.path, redact)):
                stack.callback(course.warn_of_recording)  # once it is saved, which may fail too
                course.recording = await stack.enter_async_context(recording)
            async with AsyncExitStack() as opened:
                har = None
                traffic = merge_needs(grader.needs(task) for grader in course.graders).traffic
                if config.capture.har or traffic is not None:
                    pages = session.cassettes.intercept_pages(cassette, course.urls.values())
                    course.traffic = await opened.enter_async_context(pages)
                    har_file = record_traffic(folder.path, traffic or Traffic(), redact, course.traffic.keep)
                    har = await opened.enter_async_context(har_file)
                opened.push_async_callback(windows.close_window, str(folder.path))
                about = task, course.graders, config, course.urls, folder.path, redact
                begins = behaviour.prepare_window(*about) if behaviour.prepare_window else []
                if course.recording is not None:
                    begins.insert(0, course.recording.begin)
                window = await windows.create_window(
                    str(folder.path),
                    task.start_url,
                    task.setup_script,
                    wants_cdp=trial.agent.needs().cdp,
                    har=har,
                    answers=course.traffic.answers,
                    context=task.context,
                    clock=task.clock or config.clock,
                    site_urls=course.urls,
                    opened=call_all(begins) if begins else None,
                )
                course.capture = capture = open_capture(
                    config, window, folder.path, redact=redact, on_message=course.listener
                )
                opened.callback(course.leave_window, capture)
                if behaviour.window_opened:
                    behaviour.window_opened(window, task)
                if behaviour.follow:
                    follower = behaviour.follow(capture, task, course.graders, config)
                    await capture.follow(follower and HookFollower(follower))
                try:
                    await _run_agent(course, capture)
                except Fault:
                    await _judge_broken(course, window)
                    raise
                if course.recording is not None:
                    await course.recording.end()
                await _observe(course, window, course.graders)
            await _grade(course, course.graders)
            if course.recording is not None:
                course.recording.has_passed = course.decide()[0] is Verdict.PASSED
        await session.sites.check(trial.site_urls)  # who holds them learns it only at the end
        await _review(course, session)
    except Fault as error:
        course.fault = course.traffic.fault() or error  # a start page that was not recorded does not load
    except PLUGIN_ERRORS as error:  # no matter what breaks, the attempt is recorded
        if is_given_up(error):
            folder.finish()  # not in flight: without metadata it does not count
            raise
        course.fault = Fault(ErrorSource.HARNESS, describe_error(error))
        course.fault.__cause__ = error
    try:
        course.count_outage()
    except RunStopped:
        folder.finish()
        raise
    record = course.save()
    session.cassettes.save(cassette, record.metadata, course.calls, course.traffic.recording)
    return record


def record_fault(trial: Trial, run: ActiveRun, node_id: str, fault: Fault) -> AttemptRecord:
    """Record an attempt that could not be finished by itself: its process died, its loop was stuck.

    Raises:
        OSError: the run folder cannot be written.
    """
    return Course(trial, run, node_id, run.store, fault).save()


async def _run_agent(course: Course, capture: CaptureContext) -> None:
    """Run the agent within its limits; a limit is a result, anything else that breaks is a fault."""
    run, trial, window = course.run, course.trial, capture.window
    sites = trial.sites | run.toolsets.sites_used(course.row, run.config.sites)
    folder, base_dir = course.folder.path, run.config.base_dir
    values = trial.variables.telling(run.hide_code)
    known = ToolContext(course.task, folder, base_dir, course.urls, values, trial.files)
    guard = guard_calls(run, known, capture, course.node_id)
    context = agent_context(
        run, trial.agent, trial.key.variant, known, sites, capture=capture, output_dir=course.store.root
    )
    context.tools.guard = guard
    try:
        await await_ready(window, course.task, run.config.sites, course.urls)
    finally:
        await capture.first_picture()
    capture.log_user(course.task.query)
    async with AsyncExitStack() as stack:
        if watch := run.behaviour.watch_agent:
            about = window, course.task, course.graders, run.config, course.urls, course.site_data
            for each in watch(*about, folder, run.redact):
                await stack.enter_async_context(each)
        limit = f"limits.timeout_ms is {run.config.limits.timeout_ms}"
        started = time.perf_counter()
        try:
            try:
                result = await play(
                    context, course.build_agent, "the agent", limit_s=context.timeout_s, time_limit=limit
                )
                answer = result.final_answer
                is_by_tool = answer in (None, context.tools.answer)
                if guard and not is_by_tool and (why := await guard(DONE, {"answer": answer})):
                    result = replace(result, final_answer=None, note=f"no answer: {why}")
            except LimitReached as reached:
                result = AgentResult(context.tools.answer, reached.reason, note=str(reached))
                course.ending.went_on_s = reached.went_on_s
            await course.take_result(result, capture)
        finally:
            course.ending.agent_duration_ms = (time.perf_counter() - started) * 1000
            await capture.final_picture()
        await window.look()  # nothing is judged in a browser that has died unnoticed
        if window.dead:
            raise Fault(ErrorSource.BROWSER, window.dead)
        # An agent may catch it.
        broken = (one.fault for one in (guard, course.listener, capture.follower) if one)
        if fault := course.traffic.fault() or next(filter(None, broken), None):
            raise fault
    if result.termination_reason is TerminationReason.COMPLETED:
        context.tools.check_awaited()


async def _judge_broken(course: Course, window: Window) -> None:
    """Ask the graders that no fault excuses an attempt from."""
    if asked := [grader for grader in course.graders if grader.judges_broken]:
        await _observe(course, window, asked)
        await _grade(course, asked)
        if not course.grading.is_vetoed():
            course.grading = Grading()  # it was broken before it could be graded


async def _observe(course: Course, window: Window, asked: Sequence[GraderConfig]) -> None:
    """Have graders read what they need of the live page, before the window closes."""
    for grader in asked:
        try:
            async with asyncio.timeout(OBSERVE_TIMEOUT_S):
                with limit_evaluations(OBSERVE_TIMEOUT_S):
                    seen = await grader.observe(window, course.task, course.urls)
        except PLUGIN_ERRORS as error:  # the grade errs, the attempt is recorded
            if is_given_up(error):
                raise
            course.unobserved[grader.label] = describe_error(error), details_of(error)
        else:
            if seen is not None:
                course.evidence[grader.label] = seen


async def _grade(course: Course, asked: Sequence[GraderConfig]) -> None:
    """Ask the graders, or some of them, and save what they judge by before the first one is asked."""
    run, task, graders, urls = course.run, course.task, course.graders, course.urls
    saver = TrajectorySaver(course.folder.path, redact=run.redact)
    unobserved = {name: why for name, (why, _) in course.unobserved.items()}
    saver.save_evidence(course.evidence)
    recorded = Recorded(
        task=task,
        final_answer=course.result.final_answer,
        termination_reason=course.result.termination_reason,
        final_url=course.ending.of_window.get("final_url"),
        folder=course.folder.path,
        evidence=course.evidence,
        site_urls=urls,
        sites=run.config.sites,
        base_dir=run.config.base_dir,
        judge=run.config.judge,
        started_at=course.folder.started_at,
        agent_duration_ms=round(course.ending.agent_duration_ms, 3),
        usage=course.capture.usage if course.capture else Usage(),
        redact=run.redact,
    )
    keys = observation_keys(graders, task, run.redact)
    saver.save_task(task, graders, urls, unobserved, row_hash=course.trial.content_hash, observed=keys)
    if course.calls is not None:
        course.calls.mask_answer(task, course.row)
    stand_in = run.behaviour.grade
    grading = await grade_all(asked, recorded, unobserved=unobserved, stand_in=stand_in)
    grading.add_details({name: details for name, (_, details) in course.unobserved.items()}, task)
    course.grading = grading
    saver.save_grades(grading.grades)


async def _review(course: Course, session: Session) -> None:
    """Ask a feature whose failure it is that the grades say; what that takes is no time of the attempt."""
    review, is_replayed = course.run.behaviour.review, course.calls and course.calls.is_replayed
    is_excused = is_replayed or course.grading.is_vetoed()
    if review is None or is_excused or course.decide()[0] is not Verdict.FAILED:
        return
    began = time.perf_counter()
    if (asked := review(course.trial, session, course.store, course.folder.path, course.node_id)) is not None:
        course.probe = await asked
        course.folder = replace(course.folder, clock=course.folder.clock + time.perf_counter() - began)


class Course:
    """What an attempt has come to so far; becomes its record.

    Args:
        trial: what is attempted.
        run: whose attempt it is.
        node_id: of its item.
        store: where it is recorded.
        fault: why it was not finished by itself.
    """

    def __init__(
        self, trial: Trial, run: ActiveRun, node_id: str, store: RunStore, fault: Fault | None = None
    ) -> None:
        self.trial, self.run, self.node_id, self.store, self.fault = trial, run, node_id, store, fault
        begin = store.begin_attempt if fault is None else store.reopen_lost
        self.folder = begin(trial.key, node_id)
        self.row = self.task = trial.task
        """The row as plug-ins have made it, once they were asked: code, as the agent is, and not hashed."""
        self.graders: Sequence[GraderConfig] = trial.graders
        self.site_data: Mapping[str, Path] = {}
        self.urls: Mapping[str, str] = {}
        """Of the sites, by which ``fill`` fills in the placeholders of task and graders."""
        tell = run.behaviour.message
        self.listener = None if tell is None else MessageListener(tell, node_id)
        self.capture: CaptureContext | None = None
        self.output: AttemptOutput | None = None
        self.calls: InterceptedCalls | None = None
        self.traffic = PageTraffic()
        self.recording: WindowRecording | None = None
        self.result = AgentResult(None, TerminationReason.ERROR)
        self.ending = Ending()
        self.evidence: dict[str, JsonValue] = {}
        self.unobserved: dict[str, tuple[str, dict[str, JsonValue] | None]] = {}
        """Why graders could not observe the page, and what is known of that."""
        self.grading = Grading()
        self.probe: Probe | None = None

    @property
    def run_id(self) -> str:
        """The id of the run, which its folder has as its name."""
        return self.store.real_root.name

    def name_trace(self) -> str:
        """Return the name of its trace, which others in the run do not have."""
        store, key = self.store, self.trial.key
        is_own = store is not self.run.store  # of a hand-written test, which has a name of its own
        name = str(store.run.read_manifest()["name"]) if is_own else self.run.config.name
        numbers = {"trial": key.trial, "attempt": self.folder.number}
        attempt_id = name_attempt(name, self.run_id, key.query_id, key.variant, **numbers)
        return name_trace(attempt_id, self.node_id)

    def fill(self, urls: Mapping[str, str]) -> Task:
        """Fill in the placeholders of sites; returns the task."""
        self.urls = urls
        self.task = Task.model_validate(fill(self.row.model_dump(), urls))
        self.graders = [fill_sites(grader, urls) for grader in self.trial.graders]
        self.ending.start_url = self.task.start_url
        return self.task

    def build_agent(self, context: AgentContext) -> AgentEvaluator:
        """Return the agent that a plug-in builds, else that of the config."""
        create = self.run.behaviour.create_agent
        made = create(context) if create else None
        return self.trial.agent.build(context) if made is None else made

    async def take_result(self, result: AgentResult, capture: CaptureContext) -> None:
        """Note what the agent returned, or which limit ended it: a failure's reason names that first."""
        for message in result.messages:
            capture.log(message)
        if result.termination_reason in LIMITS:
            self.ending.limit = result.note or f"{result.termination_reason}, by the agent's own account"
            capture.add_error(ErrorSource.AGENT, f"stopped: {self.ending.limit}")
        elif result.note:
            capture.add_warning(ErrorSource.AGENT, result.note)
        answer, sizes = result.final_answer, capture.sizes
        if not sizes.is_small(answer):  # a search of megabytes for secrets would hold up all lanes
            answer = await asyncio.to_thread(sizes.fit, answer)
        self.result = replace(result, final_answer=answer)

    def leave_window(self, capture: CaptureContext) -> None:
        """Note where the window is before it closes, and end the log."""
        ending, window = self.ending, capture.window
        ending.of_window = read_figures(window)
        ending.broken_page = find_broken_page(window, (ending.start_url, *self.urls.values()))
        capture.close()

    def warn_of_recording(self) -> None:
        """Add what went wrong with the recording of the window to the warnings of the attempt."""
        if self.recording and self.capture:
            for warning in self.recording.warnings:
                self.capture.add_warning(ErrorSource.BROWSER, warning)

    def count_outage(self) -> None:
        """Have the run stop where a second row met that a site or a model does not answer.

        Raises:
            RunStopped: it has stopped for that already, and this attempt has cost nothing.
        """
        is_free = self.capture is None or not self.capture.usage.requests
        outages, key, grading = self.run.outages, self.trial.key, self.grading
        self.fault = outages.count(key, self.fault, is_free=is_free)
        grading.is_unanswered = outages.count_grades(key, grading.grades.values())

    def decide(self) -> tuple[Verdict, ErrorSource | None, str]:
        """Return verdict, source of the error, and reason, as they are now."""
        if self.fault is not None and not self.grading.is_vetoed(self.graders):
            return Verdict.ERRORED, self.fault.source, str(self.fault)
        return decide(self.grading, self.run.config.pass_when, self.ending, self.probe)

    def save(self) -> AttemptRecord:
        """Decide the verdict, write the metadata and end the attempt."""
        run, store, capture, folder = self.run, self.store, self.capture, self.folder.path
        if store.root.is_dir() and not folder.is_dir():
            folder.mkdir(parents=True)  # the run goes on, no matter who it was
            lost = "the attempt's folder was removed during the attempt, with all that was recorded"
            self.fault = Fault(ErrorSource.AGENT, lost)
        progress = capture.follower.finish() if capture and capture.follower else None
        self._warn()
        verdict, source, reason = self.decide()
        is_replayed = self.calls is not None and self.calls.is_replayed
        faults = () if self.fault is None else (self._log_fault(self.fault),)
        recorded: dict[str, Any] = capture.figures() if capture else {"total_steps": 0, "errors": ()}
        usage = capture.usage if capture else Usage()
        requests = find_requests(self.evidence)
        figures = {
            **self.ending.of_window,
            "page_request_count": None if requests is None else len(requests),
            **recorded,
            **self.ending.figures(run.redact),
            "errors": (*recorded["errors"], *faults),
            "attempt": self.folder.number,
            "run_id": self.run_id,
            "derived": self.trial.derived,
            "replayed": is_replayed,
            "started_at": self.folder.started_at,
            "completed_at": now(),
            "total_duration_ms": round((time.perf_counter() - self.folder.clock) * 1000, 3),
            "termination_reason": TerminationReason.ERROR if self.fault else self.result.termination_reason,
            "final_answer": self.result.final_answer,
            "agent_config": map_texts(self.trial.agent.model_dump(mode="json"), hide_logins),
            "grader_results": self.grading.grades,
            "grading_duration_ms": round(self.grading.duration_ms, 3),
            "cost_usd": total_cost(usage, self.grading.grades.values()),
            "verdict": verdict,
            "error_source": source,
            "stops_run": run.outages.ends_run(self.fault, grading_does=self.grading.stops_run),
            "reason": run.redact(reason),
            "progress": progress,
            "probe": self.probe,
        }
        metadata = make_metadata(
            self.row, self.trial.key, self.node_id, row_hash=self.trial.content_hash, **figures
        )
        if store.is_lost(self.folder):
            raise asyncio.CancelledError
        metadata = store.save_record(metadata, run.redact)
        run.budget.note_payment(folder, 0.0 if is_replayed else metadata.cost_usd)
        self.folder.finish()
        return AttemptRecord(metadata, folder)

    def _log_fault(self, fault: Fault) -> TaskError:
        """Write what broke as the last line of the log, which may not be open, or never was; return it."""
        text = self.run.redact(str(fault))
        line = ErrorMessage(content=text, error_code=str(fault.source))
        try:
            log_last(self.folder.path, line, redact=self.run.redact, on_message=self.listener)
        except PLUGIN_ERRORS as error:  # a full disk, or a hook that broke at the message: the verdict stands
            if self.capture:
                self.capture.add_warning(
                    ErrorSource.MESSAGE_LOGGING, f"at the last message: {describe_error(error)}"
                )
        details = details_of(fault)
        return TaskError(source=fault.source, message=text, timestamp=line.timestamp, details=details)

    def _warn(self) -> None:
        """Add what has come to light only now."""
        if self.capture is None:
            return
        missed = (self.calls.warning() if self.calls else None, self.traffic.warning())
        for warning in filter(None, missed):
            if self.fault is None:
                self.capture.add_warning(ErrorSource.REPLAY, warning)
        if self.output is not None and self.output.trouble is not None:
            message = f"a part of the output was not kept: {self.output.trouble}"
            self.capture.add_warning(ErrorSource.HARNESS, message)
