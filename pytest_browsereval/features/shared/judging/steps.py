"""The recorded steps of an attempt: facts from its message log, in order, for judges in one line each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pytest_browsereval.features.shared.judging.judge import Given
from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.graders.values import read_json
from pytest_browsereval.model.messages import AssistantMessage, Message, ToolCallMessage, ToolResultMessage
from pytest_browsereval.redaction.known import beginning

_OF_RESULTS = ("result", "is_error", "duration_ms", "screenshot", "url")


@dataclass(frozen=True)
class Step:
    """One tool call with its result."""

    number: int
    """From 1."""
    tool: str
    params: dict[str, Any]
    thought: str = ""
    """What the model said just before."""
    is_over: bool = False
    """False: the attempt ended before the result."""
    result: Any = None
    is_error: bool = False
    duration_ms: float | None = None
    """None if it was not measured."""
    screenshot: int | None = None
    url: str | None = None

    @property
    def text(self) -> str:
        """What the tool said; the text of an outcome ``{ok, output}``."""
        if not self.is_over:
            return ""
        output = self.result.get("output", self.result) if isinstance(self.result, dict) else self.result
        return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)

    @property
    def success(self) -> bool | None:
        """Whether it succeeded, by ``ok`` of its result too; None if the attempt ended before that."""
        if not self.is_over:
            return None
        result = read_json(self.result) if isinstance(self.result, str) else self.result
        return not self.is_error and not (isinstance(result, dict) and result.get("ok") is False)

    def line(self, limit: int = 100) -> str:
        """Return the step in one line: number, tool, arguments each cut at the limit, and if it failed."""
        arguments = ", ".join(f"{name}={_cut(value, limit)}" for name, value in self.params.items())
        failed = " -> failed" if self.is_error else "" if self.is_over else " -> no result"
        return f"{self.number}. {self.tool}({arguments}){failed}"


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
            step = Step(len(steps) + 1, message.tool, message.params, thought)
            if result := results.get(message.tool_call_id):
                seen = {name: getattr(result, name) for name in _OF_RESULTS}
                step = replace(step, is_over=True, **seen)
            steps.append(step)
            thought = ""
    return steps


def _cut(value: Any, limit: int) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else f"{beginning(text, limit)}..."


# -- as a judge reads them

ARGUMENT = 100
"""Characters of one argument of an action that a judge reads."""

ARGUMENTS = 30_000
"""The same of one argument of all actions together, for the same reason as with results."""

RESULT = 300
"""Characters of an action's result that a judge reads, where it reads results."""

RESULTS = 20_000
"""Characters of all results together: in a long attempt each is shorter, so that no action is left out."""


def load_steps(recorded: Recorded) -> list[Step]:
    """Return the tool calls of an attempt.

    Raises:
        Fault: source *grader*; nothing was recorded, so that it is not known what the agent did.
    """
    return list_steps(recorded.messages)


def give_actions(steps: list[Step], *, results: bool = False, argument: int = ARGUMENT) -> Given:
    """Return the actions of an attempt for a judge.

    Args:
        steps: the tool calls.
        results: include the beginning of what each action returned.
        argument: the most characters of one argument.
    """
    # Shorter texts for longer attempts: the whole has to fit into the judge's context.
    count = max(1, len(steps))
    limit = min(RESULT, RESULTS // count) if results else 0
    argument = min(argument, ARGUMENTS // count)
    lines, page = [], None
    for step in steps:
        # The address is named when it changes: repeated in each line it would bury the actions.
        parts = [step.line(argument)]
        if step.url and step.url != page:
            parts.append(f"page {json.dumps(step.url)}")
        if step.screenshot is not None:
            parts.append(f"picture {step.screenshot}")
        if limit and step.text:
            text = step.text if len(step.text) <= limit else f"{beginning(step.text, limit)}..."
            parts.append(f"returned {json.dumps(text, ensure_ascii=False)}")
        # In exactly one line, even if names, addresses or results have line breaks.
        lines.append(join_lines(" | ".join(parts)))
        page = step.url or page
    return Given("actions of the agent", "\n".join(lines) or "(no tool was called)")


def join_lines(text: str) -> str:
    """Return a text without line breaks: one would let an agent or a page write what never happened."""
    return " ".join(text.split())
