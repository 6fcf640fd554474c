"""The lines of ``messages.jsonl``: a closed union, discriminated by ``type``.

Fields of the design documents are in camelCase, as written there. Fields that we have added are in
snake_case: ``span_id``, ``parent_id``, ``duration_ms``, ``usage``.
"""

from __future__ import annotations

import functools
import re
import time
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter

from pytest_browsereval.model.usage import Usage
from pytest_browsereval.redaction.known import beginning

DelegationStatus = Literal["done", "blocked", "timeout", "max_steps"]
"""How a delegation ended: goal reached, given up, out of time, out of steps."""

SCHEMA_VERSION = 2
"""Increased when a field changes its meaning; every manifest has it."""


def now() -> str:
    """Return the time as ISO 8601 in UTC with milliseconds."""
    return write_time(time.time())


def write_time(seconds: float) -> str:
    """Return a time, in seconds since 1970, in that form."""
    milliseconds = int(seconds * 1000)
    return f"{_second(milliseconds // 1000)}.{milliseconds % 1000:03d}Z"


@functools.lru_cache(maxsize=1)  # a second has many lines of a log, and strftime is slow
def _second(since_1970: int) -> str:
    return datetime.fromtimestamp(since_1970, UTC).strftime("%Y-%m-%dT%H:%M:%S")


_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d([.,]\d{1,9})?)?(Z|[+-]\d\d(:?\d\d)?)?", re.ASCII)


def check_time(value: str) -> str:
    """Return an ISO 8601 date-time unchanged; an empty text stands for an unknown time.

    Raises:
        ValueError: it is something else.
    """
    if not value:
        return value
    with suppress(ValueError):
        # It knows how many days a month has, but accepts a date without a time, so the pattern decides too.
        datetime.fromisoformat(value)
        if _DATE_TIME.fullmatch(value):
            return value
    raise ValueError(
        f"{beginning(value, 40)!r} is not an ISO 8601 date-time, such as 2026-05-01T10:00:00.000Z"
    )


class AnyMessage(BaseModel):
    """Base of all messages."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, populate_by_name=True)

    timestamp: Annotated[str, AfterValidator(check_time)] = Field(default_factory=now)
    """ISO 8601; empty in the log of another system that has no times."""
    span_id: str | None = None
    parent_id: str | None = None
    """The enclosing span, a delegation for example."""
    duration_ms: float | None = None
    """Measured with a monotonic clock, never by differences of timestamps."""
    usage: Usage | None = None


class UserMessage(AnyMessage):
    """The instruction to the agent."""

    type: Literal["user"] = "user"
    content: str


class AssistantMessage(AnyMessage):
    """A reply of the model."""

    type: Literal["assistant"] = "assistant"
    content: str
    reasoning: str | None = None
    """What the model thought, where its provider shows it; no part of what it said."""


class ToolCallMessage(AnyMessage):
    """A tool is about to run."""

    type: Literal["tool_call"] = "tool_call"
    tool: str
    tool_call_id: str = Field(alias="toolCallId")
    params: dict[str, Any]
    holds_value: str | None = Field(default=None, alias="holdsValue")
    """The argument with the value that the call enters, as the tool says: a text, a choice, an address."""


class Hit(BaseModel):
    """The element that a call acted on, as the page described it."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    role: str = ""
    name: str = ""
    tag: str = ""
    id: str = ""
    classes: tuple[str, ...] = ()
    in_frame: bool = False
    around: str = ""
    """The text of the row, the item or the box that it stands in."""
    points: tuple[tuple[float, float], ...] = ()
    """Where it was acted on, in CSS pixels of the viewport; a drag has two. Empty where the call says so."""
    has_scrolled: bool = False
    """Whether the page had to scroll there first."""


class ToolResultMessage(AnyMessage):
    """The result of a tool, and the number of the picture taken after it."""

    type: Literal["tool_result"] = "tool_result"
    tool_call_id: str = Field(alias="toolCallId")
    result: Any
    is_error: bool = Field(alias="isError")
    screenshot: int | None = None
    dom: int | None = None
    """The number of the stored markup of the page."""
    url: str | None = None
    """The address of the page after the call."""
    hit: Hit | None = None
    """The element that the call acted on; None where that is not known."""
    status: int | None = None
    """The HTTP status that the page was answered with, where that is an error: 400 or more."""


class ErrorMessage(AnyMessage):
    """An error."""

    type: Literal["error"] = "error"
    content: str
    error_code: str | None = Field(default=None, alias="errorCode")


class DelegationMessage(AnyMessage):
    """An orchestrator hands a goal to an executor."""

    type: Literal["delegation"] = "delegation"
    instruction: str
    executor_id: str = Field(alias="executorId")
    max_steps: int | None = Field(default=None, alias="maxSteps")


class DelegationResultMessage(AnyMessage):
    """An executor reports back."""

    type: Literal["delegation_result"] = "delegation_result"
    executor_id: str = Field(alias="executorId")
    summary: str
    status: DelegationStatus
    steps_used: int = Field(alias="stepsUsed")
    current_url: str | None = Field(default=None, alias="currentUrl")


Message = Annotated[
    UserMessage
    | AssistantMessage
    | ToolCallMessage
    | ToolResultMessage
    | ErrorMessage
    | DelegationMessage
    | DelegationResultMessage,
    Field(discriminator="type"),
]

message_adapter: TypeAdapter[Message] = TypeAdapter(Message, config=ConfigDict(defer_build=True))
"""Reads a message that we have made; ``read_message`` reads a line of a log."""


def read_message(line: bytes | str) -> Message:
    """Return the message of a line.

    Raises:
        ValueError: the line is damaged: it is not a message, or has no timestamp.
    """
    # The default of a new message is the time now, which would be a lie about a stored one.
    message = message_adapter.validate_json(line)
    if "timestamp" not in message.model_fields_set:
        raise ValueError(f"the {message.type} has no timestamp")
    return message
