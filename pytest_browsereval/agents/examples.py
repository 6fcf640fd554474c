"""Worked steps that a model is shown before its task: small models copy what they have seen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from pytest_browsereval.errors import nearest
from pytest_browsereval.llm.completion import Completion
from pytest_browsereval.llm.conversation import Conversation
from pytest_browsereval.tools.base import Tool


class Example(BaseModel):
    """One step: a task, the page that it begins with, and the call that is right there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str = Field(min_length=1)
    """What is asked for, as a row's ``query``."""
    page: str = ""
    """The page as ``snapshot`` shows it; a few lines will do."""
    tool: str
    """The tool to call."""
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    """What to call it with."""

    def __hash__(self) -> int:
        """Arguments are not hashable; the rest tells examples apart well enough."""
        return hash((self.task, self.page, self.tool))


def check_examples(examples: Sequence[Example], tools: Mapping[str, Tool]) -> None:
    """Check that each example is a call that a model could make.

    Raises:
        ValueError: a tool is not there, or would refuse the arguments.
    """
    for number, example in enumerate(examples, 1):
        where = f"agent.examples[{number}]"
        tool = tools.get(example.tool)
        if tool is None:
            raise ValueError(
                f"{where}: tool is {example.tool!r}, which is not switched on."
                f"{nearest(example.tool, tools)} Tools: {', '.join(tools)}."
            )
        try:
            tool.check_arguments(example.arguments)
        except ValueError as error:
            raise ValueError(f"{where}: wrong arguments for {tool.name}: {error}") from None


def add_examples(conversation: Conversation, examples: Sequence[Example]) -> None:
    """Show the examples as turns that went well."""
    for number, example in enumerate(examples, 1):
        call_id = f"example_{number}"
        conversation.add_user(opening(example.task), example.page)
        conversation.add_reply(Completion("", message=_made(example, call_id)))
        # Providers refuse a call without a result in the history.
        conversation.add_result(call_id, "ok")


def opening(task: str) -> str:
    """Return what the model reads before the page at the start."""
    return f"The task:\n{task}\n\nThe page at the start:"


def _made(example: Example, call_id: str) -> dict[str, Any]:
    function = {"name": example.tool, "arguments": json.dumps(example.arguments)}
    call = {"id": call_id, "type": "function", "function": function}
    return {"role": "assistant", "content": None, "tool_calls": [call]}
