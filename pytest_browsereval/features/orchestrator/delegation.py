"""One delegation: a goal, a fresh executor, and a report that keeps apart how it ended."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

from pytest_browsereval.agents.base import AgentConfig, AgentContext
from pytest_browsereval.agents.playing import play
from pytest_browsereval.errors import ErrorSource, Fault, LimitReached, TerminationReason
from pytest_browsereval.model.messages import DelegationStatus, now
from pytest_browsereval.model.results import AgentResult, ExecutorRecord
from pytest_browsereval.model.spans import in_span
from pytest_browsereval.redaction.text import redact_json
from pytest_browsereval.run_files import write_json
from pytest_browsereval.tools.base import Tool
from pytest_browsereval.tools.finish import done, give_up

ROLE = "executor"
EXECUTORS = "executors"
"""The folder of what executors left behind, in that of the attempt."""

HARNESS = "[harness]"
"""Marks in a summary what the executor did not say."""

GRACE_S = 2.8
"""How long an executor may take to end once its time is over; shorter than the attempt's own grace."""

REPORT = replace(
    done,
    description="End the goal once it is reached. The answer is your report, and all that anybody learns "
    "of your work: what you did, what the page shows now, and every fact that was asked for.",
)

EXECUTOR_TOOLS: tuple[Tool, ...] = (REPORT, give_up)
"""What an executor has in addition to the tools of the attempt."""

_BY_REASON: dict[TerminationReason, DelegationStatus] = {
    TerminationReason.COMPLETED: "done",
    TerminationReason.MAX_STEPS: "max_steps",
    TerminationReason.TIMEOUT: "timeout",
    TerminationReason.BUDGET: "blocked",
    TerminationReason.ERROR: "blocked",
}
"""What an executor's own account of its end is as a status."""


def with_endings(tools: Mapping[str, Tool]) -> dict[str, Tool]:
    """Return what an executor may call, by name, where an attempt has these tools."""
    return {**tools, **{tool.name: tool for tool in EXECUTOR_TOOLS}}


@dataclass(frozen=True)
class Report:
    """What came of a delegation; as it stands at first, the attempt ended before its executor did."""

    status: DelegationStatus | None = None
    words: str = ""
    """The executor's report in its own words; empty if it gave none. Only those of one that was not blocked
    may become an answer."""
    note: str = "the attempt ended first"
    """What the harness says of the end; empty where the report says it all."""
    last_words: str = ""
    """The last text of an executor that gave no report."""
    reason: TerminationReason | None = None
    steps_used: int = 0
    url: str | None = None
    """Where the window is then."""

    @property
    def summary(self) -> str:
        """All that is known of the end in one text; the harness's words are marked."""
        note = f"{HARNESS} {self.note}" if self.note else ""
        last_words = f"The last that it said: {self.last_words}" if self.last_words else ""
        return " ".join(filter(None, (note, last_words, self.words)))


@dataclass
class Delegation:
    """One goal for one executor, which starts with nothing but the instruction."""

    attempt: AgentContext
    """The attempt's."""
    executor: AgentConfig
    """The executor's block."""
    executor_id: str
    """Unique in the attempt; names the span and the file."""
    max_steps: int | None
    """The tool calls that it may make; None sets no limit beyond the attempt's."""
    timeout_s: float
    """The time that it may take."""

    def __post_init__(self) -> None:
        self.capture = self.attempt.capture.nest(self.executor_id, role=ROLE)  # it counts the steps
        self._tools = self.attempt.tools.nest(self.capture, max_steps=self.max_steps, more=EXECUTOR_TOOLS)
        self._context = replace(
            self.attempt,
            config=self.executor,
            tools=self._tools,
            capture=self.capture,
            task_output_dir=self.attempt.task_output_dir / EXECUTORS / self.executor_id,
            timeout_s=min(self.attempt.timeout_s, self.timeout_s),
        )

    async def run(self, instruction: str) -> Report:
        """Have the goal worked at, and record it from beginning to end.

        Raises:
            Fault: something broke, be it the executor's own code: nobody's wrong answer.
            LimitReached: a limit of the attempt ended it.
        """
        window, report = self.attempt.window, Report()
        url, started_at, started = window.url or None, now(), time.perf_counter()
        pictures = self.capture.screenshot.count
        self.attempt.capture.log_delegation(instruction, self.executor_id, max_steps=self.max_steps)
        try:
            self._context.task_output_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Fault(ErrorSource.HARNESS, f"the executor has no folder: {error}") from error
        try:
            async with self.capture.settling():
                with in_span(f"delegation/{self.executor_id}"):
                    report = await self._work(instruction, url)
        except (Fault, LimitReached) as error:  # which ends the attempt as well
            reason = error.reason if isinstance(error, LimitReached) else TerminationReason.ERROR
            report = Report(note=str(error), reason=reason)
            raise
        finally:
            with contextlib.suppress(OSError):  # one that is not empty stays
                self._context.task_output_dir.rmdir()
            record = ExecutorRecord(
                executor_id=self.executor_id,
                span_id=self.executor_id,
                agent=self._context.config.label(),
                instruction=instruction,
                status=report.status,
                summary=report.summary,
                termination_reason=report.reason,
                steps_used=self.capture.steps,
                start_url=url,
                current_url=window.url or None,
                started_at=started_at,
                duration_ms=round((time.perf_counter() - started) * 1000, 3),
                pictures=tuple(range(pictures + 1, self.capture.screenshot.count + 1)),
                usage=self.capture.usage,
            )
            self._keep(record)
        assert report.status is not None  # noqa: S101 it has one where nothing was raised
        self.attempt.capture.log_delegation_result(
            self.executor_id,
            report.status,
            report.summary,
            steps_used=record.steps_used,
            current_url=record.current_url,
            duration_ms=record.duration_ms,
        )
        return replace(report, steps_used=record.steps_used, url=record.current_url)

    def _keep(self, record: ExecutorRecord) -> None:
        """Save the record in the folder of the attempt; a secret cannot change how it ended."""
        config, plain = self.capture.config, record.model_dump(mode="json")
        names = {name: plain[name] for name in ("executor_id", "span_id", "status", "termination_reason")}
        folder = config.folder / EXECUTORS
        try:
            folder.mkdir(exist_ok=True)
            write_json(folder / f"{self.executor_id}.json", {**redact_json(plain, config.redact), **names})
        except OSError as error:
            self.capture.add_warning(ErrorSource.MESSAGE_LOGGING, f"its record was not written: {error}")

    async def _work(self, instruction: str, url: str | None) -> Report:
        # An executor could not go back to an empty tab.
        start = url if url and url.startswith(("http://", "https://")) else None
        task = self.attempt.task.model_copy(update={"query": instruction, "start_url": start})
        context = replace(self._context, task=task)
        try:
            result = await play(
                context,
                context.config.build,
                "the executor",
                limit_s=self.timeout_s,
                time_limit=f"it was given {self.timeout_s:g} s",
                grace_s=GRACE_S,
            )
        except LimitReached as limit:
            if self.attempt.capture.limits.find() is not None:
                raise
            return self._without_report(_BY_REASON.get(limit.reason, "blocked"), f"Stopped: {limit}.")
        # An executor may end in peace in a browser that has died: its report is worth nothing.
        if dead := self.attempt.window.dead:
            raise Fault(ErrorSource.BROWSER, dead)
        for message in result.messages:
            self.capture.log(message)
        return self._reported(result)

    def _reported(self, result: AgentResult) -> Report:
        reason = result.termination_reason
        if self._tools.gave_up is not None:
            return Report("blocked", self._tools.gave_up, "", reason=reason)
        status, text = _BY_REASON[reason], (result.final_answer or "").strip()
        is_over = reason is TerminationReason.COMPLETED
        if text or (result.note and is_over):
            return Report(status, text, result.note, reason=reason)
        if is_over:
            return self._without_report("blocked", "It ended without a report.", reason)
        return self._without_report(status, result.note or f"It ended itself: {reason}.", reason)

    def _without_report(
        self, status: DelegationStatus, why: str, reason: TerminationReason | None = None
    ) -> Report:
        report = self._tools.answer or ""  # one that was called done in time, and did not end
        return Report(status, report, why, "" if report else self.capture.said, reason)
