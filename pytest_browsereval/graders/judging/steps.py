"""The recorded steps of an attempt: facts from its message log, in order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.capture.message_log import read_messages
from pytest_browsereval.model.messages import AssistantMessage, Message, ToolCallMessage, ToolResultMessage
from pytest_browsereval.redaction.known import beginning


@dataclass(frozen=True)
class Step:
    """One tool call with its result."""

    number: int
    """From 1."""
    tool: str
    params: dict[str, Any]
    text: str = ""
    """What the tool said; the text of an outcome ``{ok, output}``."""
    is_error: bool = False
    is_over: bool = True
    """False: the attempt ended before the result."""
    duration_ms: float | None = None
    """None if it was not measured."""
    screenshot: int | None = None
    url: str | None = None
    thought: str = ""
    """What the model said just before."""

    def line(self, limit: int = 100) -> str:
        """Return the step in one line: number, tool, arguments each cut at the limit, and if it failed."""
        arguments = ", ".join(f"{name}={_cut(value, limit)}" for name, value in self.params.items())
        failed = " -> failed" if self.is_error else "" if self.is_over else " -> no result"
        return f"{self.number}. {self.tool}({arguments}){failed}"


def messages_of(folder: Path) -> list[Message]:
    """Return the messages of an attempt."""
    return list(read_messages(folder))


def list_steps(messages: Sequence[Message]) -> list[Step]:
    """Return the tool calls of an attempt in the order in which they were made."""
    results = {m.tool_call_id: m for m in messages if isinstance(m, ToolResultMessage)}
    steps: list[Step] = []
    # What the model said belongs to the next call only.
    thought = ""
    for message in messages:
        if isinstance(message, AssistantMessage):
            thought = message.content
        elif isinstance(message, ToolCallMessage):
            steps.append(_step(len(steps) + 1, message, results.get(message.tool_call_id), thought))
            thought = ""
    return steps


def _step(number: int, call: ToolCallMessage, result: ToolResultMessage | None, thought: str) -> Step:
    if result is None:
        return Step(number, call.tool, call.params, is_over=False, thought=thought)
    return Step(
        number,
        call.tool,
        call.params,
        text=_text(result.result),
        is_error=result.is_error,
        duration_ms=result.duration_ms,
        screenshot=result.screenshot,
        url=result.url,
        thought=thought,
    )


def _text(result: Any) -> str:
    output = result.get("output", result) if isinstance(result, dict) else result
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)


def _cut(value: Any, limit: int) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{beginning(text, limit)}..."
