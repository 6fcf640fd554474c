"""Everything that is recorded of an attempt while it runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, JsonValue

from pytest_browsereval.browsers.base import PictureFormat, Window
from pytest_browsereval.capture.dom import DomCapture
from pytest_browsereval.capture.message_log import Afterwards, MessageLogger
from pytest_browsereval.capture.screenshots import ScreenshotCapture
from pytest_browsereval.capture.sizes import MAX_MESSAGE_BYTES, Shortener
from pytest_browsereval.errors import ErrorSource, Fault, LimitReached, Undrawn
from pytest_browsereval.model import messages
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.limits import Limits
from pytest_browsereval.model.progress import StepFollower
from pytest_browsereval.model.results import EvalWarning, TaskError
from pytest_browsereval.model.usage import Usage

M = TypeVar("M", bound=BaseModel)

ScreenshotMode = Literal["after", "both", "final", "off"]

CUT_S = 0.5
"""How long cancelled work waits for the page to be recorded: a part of the time in which it has to end."""

BRIEF = 200
"""Characters of a failed call's result in its warning."""

CUT_OFF = "a model call was abandoned before its reply: it may have been billed, and is not in the cost"

UNSEEN = "model requests that ended without a usage: {}. They may have been billed, and are not in the cost"


@dataclass(frozen=True)
class CaptureContextConfig:
    """How an attempt is recorded."""

    folder: Path
    screenshots: ScreenshotMode = "after"
    picture: PictureFormat = "jpeg"
    quality: int = 80
    dom: bool = False
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    max_message_bytes: int = MAX_MESSAGE_BYTES
    redact: Callable[[str], str] = str
    on_message: Callable[[messages.Message], object] | None = None


@dataclass(frozen=True)
class ToolCall:
    """A tool call that is running; parallel calls each have their own."""

    call_id: str
    tool: str
    started: float
    """Seconds of a monotonic clock."""


@dataclass
class Findings:
    """What comes to light in an attempt, and how many calls were made, in all its parts."""

    errors: list[TaskError] = field(default_factory=list)
    warnings: list[EvalWarning] = field(default_factory=list)
    calls: int = 0


class CaptureContext:
    """Bundles the picture taker, the message log, errors, warnings and usage of one attempt.

    Failures of its own never break the agent: each becomes a warning with its source. A part of the attempt,
    a delegation for example, has one of its own, made by :meth:`nest`: messages, pictures, call ids, errors
    and warnings are the attempt's; steps and usage are counted twice: here, and there, where the limits are.
    """

    def __init__(self, config: CaptureContextConfig, window: Window) -> None:
        self.config = config
        self.window = window
        self.screenshot = ScreenshotCapture(
            window, config.folder, picture=config.picture, quality=config.quality
        )
        self.dom = DomCapture(window, config.folder, config.redact)
        self.messages = MessageLogger(config.folder, redact=config.redact, on_message=config.on_message)
        self.afterwards = Afterwards(self._write)
        """Shared by all parts of the attempt."""
        self.usage = Usage()
        self.usage_by_role: dict[str, Usage] = {}
        """Of agents in which several models play a part each: who used what."""
        self.role = "agent"
        """Who works in what is recorded here: the agent, or a part of it."""
        self.steps = 0
        """Tool calls begun."""
        self.said = ""
        """The last text that a model of this part said; empty if none did."""
        self.latest: messages.Message | None = None
        """The last message of this part."""
        self.parent: CaptureContext | None = None
        """The recorder of what this is a part of."""
        self.span_id: str | None = None
        """What the part's messages are nested in."""
        self.sizes = Shortener(
            config.max_message_bytes,
            redact=config.redact,
            on_cut=lambda text: self.add_warning(ErrorSource.MESSAGE_LOGGING, text),
        )
        self.findings = Findings()
        """Shared by all parts of the attempt."""
        self.follower: StepFollower | None = None
        self.limits = Limits(max_tokens=config.max_tokens, max_cost_usd=config.max_cost_usd)
        """Which limit has ended the attempt."""
        self.is_ahead = False
        """Calls return before the page that they leave has been recorded."""

    def nest(self, span_id: str | None, *, role: str | None = None) -> CaptureContext:
        """Return the recorder of a part of the attempt, which counts its own steps and usage.

        Args:
            span_id: what the part's messages are nested in; None leaves them at the top.
            role: whose usage it is; None for that of the part around it.
        """
        part = copy(self)
        part.parent, part.span_id, part.role = self, span_id, role or self.role
        part.usage, part.steps, part.limits = Usage(), 0, Limits(self.limits)
        part.said, part.latest, part.is_ahead = "", None, False
        return part

    # -- what is said

    def log(self, message: messages.Message) -> None:
        """Append a message; a failing disk becomes a warning, never an exception.

        While a picture is being drawn that an earlier line names, this one waits for it.
        """
        self.latest = message
        self.afterwards.log(self.place_message(self.sizes.fit_message(message)))

    def place_message(self, message: messages.Message) -> messages.Message:
        """Return a message with the part of the attempt that it belongs to."""
        if isinstance(message, messages.AssistantMessage) and message.content.strip():
            self.said = message.content.strip()
        if self.parent is None:
            return message
        if self.span_id is not None and message.parent_id is None:
            message = message.model_copy(update={"parent_id": self.span_id})
        return self.parent.place_message(message)

    def _write(self, message: messages.Message) -> None:
        try:
            self.messages.log(message)
        except (OSError, ValueError) as error:
            self.add_warning(ErrorSource.MESSAGE_LOGGING, f"a message was not written: {error}")

    def log_user(self, content: str) -> None:
        """Record what the agent was given to read, unless the last message says the same.

        The query of the row is recorded before the agent begins.
        """
        latest = self.latest
        if not isinstance(latest, messages.UserMessage) or latest.content != content:
            self.log(messages.UserMessage(content=content))

    def log_assistant(
        self, content: str, *, usage: Usage | None = None, duration_ms: float | None = None
    ) -> None:
        """Record what the model said, with its cost, which ``spend`` counts."""
        self.log(messages.AssistantMessage(content=content, usage=usage, duration_ms=duration_ms))

    def log_delegation(self, instruction: str, executor_id: str, *, max_steps: int | None = None) -> None:
        """Record that a goal is handed to an executor, whose part is recorded by ``nest(executor_id)``.

        Args:
            instruction: the goal.
            executor_id: unique in the attempt.
            max_steps: how many tool calls the executor may make; None sets no limit of its own.
        """
        self.log(
            messages.DelegationMessage(
                instruction=instruction, executor_id=executor_id, max_steps=max_steps, span_id=executor_id
            )
        )

    def log_delegation_result(
        self, executor_id: str, status: messages.DelegationStatus, summary: str, **more: Any
    ) -> None:
        """Record what an executor reports; further arguments are fields of ``DelegationResultMessage``."""
        fields = {"executor_id": executor_id, "status": status, "summary": summary, **more}
        self.log(messages.DelegationResultMessage(span_id=executor_id, **fields))

    def spend(self, usage: Usage) -> None:
        """Add the usage of a model call.

        Raises:
            LimitReached: the attempt's tokens or money are used up, or another limit has ended it.
            ValueError: a number of it is negative, infinite or not a number.
        """
        self.count_usage(usage)
        self.limits.check()
        self.limits.outermost.check_usage()

    def count_usage(self, usage: Usage) -> None:
        """Add the usage of a model call without looking at limits."""
        self.limits.use(usage.recheck())
        self.usage = self.limits.used
        if self.parent is not None:
            if self.role != self.parent.role:
                self.usage_by_role[self.role] = self.usage_by_role.get(self.role, Usage()) + usage
            self.parent.count_usage(usage)

    def spend_unseen(self) -> None:
        """Count a model call of unknown cost: from now on the cost of the attempt is unknown."""
        self.count_usage(Usage(requests=1))

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Ask a model in the block: warn of a call that is given up, and count replies that cannot be used.

        A call that is given up has an unknown price. If that made the attempt's cost unknown, the first task
        that is out of time would end a run with a budget, each time that it is resumed.

        Raises:
            LimitReached: a limit has ended the attempt; nothing is asked.
        """
        self.limits.check()
        try:
            yield
        except (asyncio.CancelledError, LimitReached):  # the latter in a replay of such a call
            self.add_warning(ErrorSource.PROVIDER, CUT_OFF)
            raise
        except Fault as fault:
            self.count_usage(fault.usage or Usage())
            raise

    # -- tool hooks

    def count_step(self) -> None:
        """Count a tool call, here and in what is around it."""
        self.steps += 1
        if self.parent is not None:
            self.parent.count_step()

    @asynccontextmanager
    async def going_ahead(self) -> AsyncIterator[None]:
        """Let tool calls return before the page they leave has been recorded; the next call waits for that.

        For agents that act on the page by tools alone, and call :meth:`settle` before they look at pictures:
        a model thinks meanwhile. At the end of the block everything is recorded, unless the block is
        cancelled and the page takes long: then :meth:`final_picture` waits for it.
        """
        async with self.settling():
            self.is_ahead = True
            try:
                yield
            finally:
                self.is_ahead = False

    @asynccontextmanager
    async def settling(self) -> AsyncIterator[None]:
        """Wait at the end of the block as :meth:`settle` does; not for long if the block is cancelled."""
        limit_s = None
        try:
            yield
        except asyncio.CancelledError:
            # The one who cancels waits for us, and what is not recorded then is recorded at the end.
            limit_s = CUT_S
            raise
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(limit_s):
                    await self.settle()

    async def settle(self) -> None:
        """Wait until the page that the last call left has been recorded."""
        await self.afterwards.settle()

    async def before_tool_call(
        self,
        tool: str,
        params: dict[str, Any],
        *,
        is_step: bool = True,
        picture: bool = True,
        holds_value: str | None = None,
    ) -> ToolCall:
        """Record that a tool is about to run.

        Args:
            tool: its name.
            params: what it is called with.
            is_step: False for the finishing tool.
            picture: False for a call that cannot change the page.
            holds_value: the argument with the value that the call enters.
        """
        await self.settle()
        # Numbered over all parts of the attempt: they write into one log.
        self.findings.calls += 1
        call_id = f"call-{self.findings.calls}"
        if is_step:
            self.count_step()
        if picture and self.config.screenshots == "both":
            await self._record_page(self.screenshot, "picture")
        self.log(
            messages.ToolCallMessage(
                tool=tool, tool_call_id=call_id, params=params, holds_value=holds_value, span_id=call_id
            )
        )
        return ToolCall(call_id, tool, time.perf_counter())

    async def after_tool_call(
        self,
        call: ToolCall,
        result: JsonValue,
        *,
        is_error: bool,
        picture: bool = True,
        why: str = "",
        hit: messages.Hit | None = None,
    ) -> int | None:
        """Record what a tool returned and take a picture; return the picture's number, if any.

        Args:
            call: what ``before_tool_call`` returned.
            result: what the tool returned.
            is_error: True for a call that failed, which is a warning as well.
            picture: False for a call that cannot change the page.
            why: what the warning says; the beginning of the result by default.
            hit: the element that the call acted on.

        Returns:
            The picture's number; None as well if the call goes ahead of its picture.
        """
        if is_error:
            failed = f"{call.tool:.80} failed: "
            self.add_warning(ErrorSource.TOOL, why or failed + _brief(result).removeprefix(failed))
        line = messages.ToolResultMessage(
            tool_call_id=call.call_id,
            result=self.sizes.fit(result),
            is_error=is_error,
            hit=hit,
            **self._place(),
            span_id=call.call_id,
            duration_ms=round((time.perf_counter() - call.started) * 1000, 3),
        )
        # A call that was cut has no time left for that.
        step = int(call.call_id.removeprefix("call-")) if picture or not is_error else None
        if (step is None or self.follower is None) and not (picture and (self._draws or self.config.dom)):
            self.log(line)
        elif self.is_ahead:
            # Placed now: when the line is written, another part may be speaking.
            unfinished = self.place_message(line)
            await self.afterwards.begin(
                unfinished, lambda: self._with_page(unfinished, step, picture=picture)
            )
        else:
            try:
                line = await self._with_page(line, step, picture=picture)
            finally:
                self.log(line)  # what is cancelled here was done all the same
        return line.screenshot

    @property
    def _draws(self) -> bool:
        return self.config.screenshots in ("after", "both")

    async def _with_page(self, line: M, step: int | None, *, picture: bool) -> M:
        """Record the page, and return the line with what it came to."""
        number = await self._record_page(self.screenshot, "picture") if picture and self._draws else None
        dom = await self._record_page(self.dom, "markup") if picture and self.config.dom else None
        if step is not None:
            self.messages.pending = line if isinstance(line, messages.ToolResultMessage) else None
            await self.ask_page(step)
        return line.model_copy(update={"screenshot": number, "dom": dom, **self._place()})

    def _place(self) -> dict[str, Any]:
        """Return where the window is, as the line of a result has it."""
        error = self.window.page_error
        return {"url": self.window.url or None, "status": error and error.status}

    async def first_picture(self) -> None:
        """Record the start page; if it cannot be drawn, the pictures of steps warn of that."""
        if self._draws and self.window.url not in ("", "about:blank"):
            with suppress(Fault, OSError):
                await self.screenshot.capture(is_start=True)

    async def final_picture(self) -> None:
        """Record the page at the end, unless that is off or was done after a tool call."""
        await self.settle()
        for note in await self.window.finish():  # a download that ends after the last call is judged too
            self.log_user(f"After the last call: {note}")
        mode = self.config.screenshots
        # An attempt without a call that draws would leave graders nothing to look at.
        if mode == "final" or (mode != "off" and not self.screenshot.count):
            await self._record_page(self.screenshot, "picture", is_end=True)
        if self.config.dom and not self.dom.count:
            await self._record_page(self.dom, "markup", is_end=True)
        await self.ask_page(self.findings.calls, is_end=True)

    async def follow(self, follower: StepFollower | None) -> None:
        """Have a follower look at the page, now and after each step.

        Raises:
            Fault: what it follows is broken already.
        """
        self.follower = follower
        await self.ask_page(0)
        if follower is not None and follower.fault is not None:
            raise follower.fault

    async def ask_page(self, step: int, *, is_end: bool = False) -> None:
        """Have the follower of the attempt look at the page, if there is one."""
        if self.follower is not None:
            await self.follower.ask(step, is_end=is_end)

    async def _record_page(
        self, recorder: ScreenshotCapture | DomCapture, what: str, *, is_end: bool = False
    ) -> int | None:
        try:
            return await recorder.capture()
        except (Fault, OSError) as error:
            if is_end or not isinstance(error, Undrawn):  # a call's result names the dialog
                self.add_warning(ErrorSource.SCREENSHOT, f"no {what}: {error}")
            return None

    # -- errors and warnings

    def add_error(
        self, source: ErrorSource, message: str, details: dict[str, JsonValue] | None = None
    ) -> None:
        """Record that something broke, and in which part."""
        text = self.config.redact(self._name_part(message))
        line = messages.ErrorMessage(content=text, error_code=str(source))
        error = TaskError(source=source, message=text, timestamp=line.timestamp, details=details)
        self.findings.errors.append(error)
        self.log(line)

    def add_warning(self, source: ErrorSource, message: str) -> None:
        """Record something that a reader should know, and in which part it happened."""
        text = self.config.redact(self._name_part(message))
        self.findings.warnings.append(EvalWarning(source=source, message=text, timestamp=messages.now()))

    def _name_part(self, message: str) -> str:
        return message if self.span_id is None else f"{self.span_id}: {message}"

    @property
    def errors(self) -> tuple[TaskError, ...]:
        """Errors so far."""
        return tuple(self.findings.errors)

    @property
    def warnings(self) -> tuple[EvalWarning, ...]:
        """Warnings so far."""
        return tuple(self.findings.warnings)

    def figures(self) -> dict[str, Any]:
        """Return the fields of ``TaskMetadata`` that are known here."""
        return {
            "total_steps": self.steps,
            "screenshot_count": self.screenshot.count,
            "errors": self.errors,
            "warnings": self.warnings,
            "usage": self.usage,
            "usage_by_role": self.usage_by_role,
        }

    def close(self) -> None:
        """Take over the window's warnings and close the log; a picture that is being drawn is given up.

        A part has nothing to close: the log is the attempt's.
        """
        if self.parent is not None:
            return
        self.afterwards.end()
        if self.limits.unseen:
            self.add_warning(ErrorSource.PROVIDER, UNSEEN.format(self.limits.unseen))
        known = {warning.message for warning in self.findings.warnings}
        for text in self.window.warnings:
            if self.config.redact(text) not in known:
                self.add_warning(ErrorSource.BROWSER, text)
        self.messages.close()


def _brief(result: JsonValue) -> str:
    """Return the first line of a result."""
    output = result.get("output") if isinstance(result, dict) else result
    return one_line(str(output).partition("\n")[0], BRIEF)
