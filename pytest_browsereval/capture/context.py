"""Everything that is recorded of an attempt while it runs."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import JsonValue

from pytest_browsereval.browsers.base import PictureFormat, Window
from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.capture.screenshots import ScreenshotCapture
from pytest_browsereval.errors import ErrorSource, Fault, LimitReached, TerminationReason
from pytest_browsereval.model.messages import (
    AssistantMessage,
    ErrorMessage,
    Message,
    ToolCallMessage,
    ToolResultMessage,
    UserMessage,
    now,
)
from pytest_browsereval.model.results import EvalWarning, TaskError
from pytest_browsereval.model.usage import Usage

ScreenshotMode = Literal["after", "both", "final", "off"]


@dataclass(frozen=True)
class CaptureContextConfig:
    """How an attempt is recorded."""

    folder: Path
    screenshots: ScreenshotMode = "after"
    picture: PictureFormat = "jpeg"
    quality: int = 80
    max_tokens: int | None = None
    max_cost_usd: float | None = None
    redact: Callable[[str], str] = str
    on_message: Callable[[Message], object] | None = None


@dataclass(frozen=True)
class ToolCall:
    """A tool call that is running; parallel calls each have their own."""

    call_id: str
    tool: str
    started: float
    """Seconds of a monotonic clock."""


class CaptureContext:
    """Bundles the picture taker, the message log, errors, warnings and usage of one attempt.

    Failures of its own never break the agent: each becomes a warning with its source.
    """

    def __init__(self, config: CaptureContextConfig, window: Window) -> None:
        self.config = config
        self.window = window
        self.screenshot = ScreenshotCapture(
            window, config.folder, picture=config.picture, quality=config.quality
        )
        self.messages = MessageLogger(config.folder, redact=config.redact, on_message=config.on_message)
        self.usage = Usage()
        self.steps = 0
        """Tool calls begun."""
        self._errors: list[TaskError] = []
        self._warnings: list[EvalWarning] = []
        self._ids = itertools.count(1)

    # -- what is said

    def log(self, message: Message) -> None:
        """Append a message; a failing disk becomes a warning, never an exception."""
        try:
            self.messages.log(message)
        except (OSError, ValueError) as error:
            self.add_warning(ErrorSource.MESSAGE_LOGGING, f"a message was not written: {error}")

    def log_user(self, content: str) -> None:
        """Record what the agent was told."""
        self.log(UserMessage(content=content))

    def log_assistant(
        self, content: str, *, usage: Usage | None = None, duration_ms: float | None = None
    ) -> None:
        """Record what the model said, with what it cost."""
        self.log(AssistantMessage(content=content, usage=usage, duration_ms=duration_ms))

    def spend(self, usage: Usage) -> None:
        """Add the usage of a model call.

        Raises:
            LimitReached: the attempt's tokens or money are used up.
        """
        self.usage += usage
        tokens = self.usage.input_tokens + self.usage.output_tokens
        limit = self.config.max_tokens
        if limit is not None and tokens >= limit:
            raise LimitReached(TerminationReason.BUDGET, f"limits.max_tokens is {limit}; {tokens} were used")
        money, cost = self.config.max_cost_usd, self.usage.cost_usd
        if money is not None and cost is not None and cost >= money:
            raise LimitReached(
                TerminationReason.BUDGET, f"limits.max_cost_usd is {money}; {cost:.4f} was spent"
            )

    # -- tool hooks

    async def before_tool_call(self, tool: str, params: dict[str, Any], *, is_step: bool = True) -> ToolCall:
        """Record that a tool is about to run; ``is_step`` is False for the finishing tool."""
        call_id = f"call-{next(self._ids)}"
        self.steps += is_step
        if self.config.screenshots == "both":
            await self._picture()
        self.log(ToolCallMessage(tool=tool, tool_call_id=call_id, params=params, span_id=call_id))
        return ToolCall(call_id, tool, time.perf_counter())

    async def after_tool_call(
        self, call: ToolCall, result: JsonValue, *, is_error: bool, picture: bool = True
    ) -> int | None:
        """Record what a tool returned and take a picture; return the picture's number, if any."""
        duration_ms = (time.perf_counter() - call.started) * 1000
        number = None
        if picture and self.config.screenshots in ("after", "both"):
            number = await self._picture()
        self.log(
            ToolResultMessage(
                tool_call_id=call.call_id,
                result=result,
                is_error=is_error,
                screenshot=number,
                url=self.window.url or None,
                span_id=call.call_id,
                duration_ms=round(duration_ms, 3),
            )
        )
        return number

    async def final_picture(self) -> None:
        """Take the last picture, unless pictures are off or one was taken after the last tool call."""
        mode = self.config.screenshots
        if mode == "final" or (mode != "off" and not self.screenshot.count):
            await self._picture()

    async def _picture(self) -> int | None:
        try:
            return await self.screenshot.capture()
        except (Fault, OSError) as error:
            self.add_warning(ErrorSource.SCREENSHOT, f"no picture: {error}")
            return None

    # -- errors and warnings

    def add_error(
        self, source: ErrorSource, message: str, details: dict[str, JsonValue] | None = None
    ) -> None:
        """Record that something broke."""
        text = self.config.redact(message)
        self._errors.append(TaskError(source=source, message=text, timestamp=now(), details=details))
        self.log(ErrorMessage(content=text, error_code=str(source)))

    def add_warning(self, source: ErrorSource, message: str) -> None:
        """Record something that a reader should know of."""
        text = self.config.redact(message)
        self._warnings.append(EvalWarning(source=source, message=text, timestamp=now()))

    @property
    def errors(self) -> tuple[TaskError, ...]:
        """Errors so far."""
        return tuple(self._errors)

    @property
    def warnings(self) -> tuple[EvalWarning, ...]:
        """Warnings so far."""
        return tuple(self._warnings)

    def close(self) -> None:
        """Take over the window's warnings and close the log."""
        told = {warning.message for warning in self._warnings}
        for text in self.window.warnings:
            if self.config.redact(text) not in told:
                self.add_warning(ErrorSource.BROWSER, text)
        self.messages.close()
