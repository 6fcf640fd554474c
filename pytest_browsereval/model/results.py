"""Records of an attempt: result, errors, warnings, metadata."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from pytest_browsereval.errors import ErrorSource, TerminationReason
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import DelegationStatus, Message
from pytest_browsereval.model.usage import Usage


class TaskError(BaseModel):
    """Something broke, and what it was."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    source: ErrorSource
    message: str
    timestamp: str
    details: dict[str, JsonValue] | None = None


class EvalWarning(BaseModel):
    """Something a reader should know of, though the attempt went on."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    source: ErrorSource
    message: str
    timestamp: str


class TaskMetadata(BaseModel):
    """``metadata.json`` of an attempt. It is there if and only if the attempt is finished."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    query_id: str
    dataset: str
    query: str
    variant: str = "default"
    trial: int = Field(default=1, ge=0)
    attempt: int = Field(default=1, ge=0)
    node_id: str = ""
    tags: tuple[str, ...] = ()
    website: str | None = None
    row_hash: str = ""
    replayed: bool = False
    """Whether its model calls came from a cassette: usage and cost are those of the recording."""
    start_url: str | None = None
    started_at: str
    """ISO 8601, UTC; empty for an attempt of another system whose record does not say."""
    completed_at: str
    total_duration_ms: float | None = Field(ge=0)
    """None for an attempt of another system whose record does not say."""
    agent_duration_ms: float | None = Field(default=0.0, ge=0)
    grading_duration_ms: float = Field(default=0.0, ge=0)
    total_steps: int = Field(ge=0)
    """Tool calls, whatever the agent."""
    screenshot_count: int = Field(default=0, ge=0)
    termination_reason: TerminationReason
    final_answer: str | None
    errors: tuple[TaskError, ...] = ()
    warnings: tuple[EvalWarning, ...] = ()
    agent_config: dict[str, JsonValue] = Field(default_factory=dict)
    grader_results: dict[str, GraderResult] = Field(default_factory=dict)
    usage: Usage = Usage()
    usage_by_role: dict[str, Usage] = Field(default_factory=dict)
    """Who of several models used what: orchestrator and executor; empty where there is one."""
    cost_usd: float | None = Field(default=None, ge=0)
    """Agent and graders together, every grading if there were several; None if a part of it is unknown, 0
    without model calls."""
    verdict: Verdict
    error_source: ErrorSource | None = None
    """Set if and only if the verdict is *errored*."""
    reason: str = ""
    """Why the verdict is what it is, in one line."""
    limit: str = ""
    """Which limit ended the agent, and its value; empty if it ended by itself."""
    stops_run: bool = False
    """True if the fault is one that every further attempt would meet as well."""
    final_url: str | None = None
    regraded_at: str | None = None
    """When the attempt was last graded again; grades, verdict, reason and the grading's duration are of then,
    and those before are in ``grades-history.jsonl``."""

    @property
    def warning_count(self) -> int:
        """How many warnings and errors there are: what a reader of a passed attempt may want to know of."""
        return len(self.warnings) + len(self.errors)


class ExecutorRecord(BaseModel):
    """``executors/<executor_id>.json``: one delegation, and what its executor saw of the page.

    The executor's messages are those whose ``parent_id`` is the span.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    executor_id: str
    span_id: str
    agent: str
    """What kind of agent it was."""
    instruction: str
    status: DelegationStatus | None
    """None if the attempt ended first."""
    summary: str
    """What it reported; for one that did not, why it ended."""
    termination_reason: TerminationReason | None
    """Why it stopped by its own account; None if it was stopped."""
    steps_used: int = Field(ge=0)
    start_url: str | None
    current_url: str | None
    """Where the window was when it ended."""
    started_at: str
    duration_ms: float = Field(ge=0)
    pictures: tuple[int, ...] = ()
    """Numbers of the pictures that were taken meanwhile."""
    usage: Usage = Usage()


@dataclass(frozen=True)
class AgentResult:
    """What ``AgentEvaluator.execute()`` returns."""

    final_answer: str | None
    """What the agent says is the answer; None if it gave none."""
    termination_reason: TerminationReason = TerminationReason.COMPLETED
    messages: tuple[Message, ...] = field(default=(), repr=False)
    """Messages that are not in the log yet; agents that use the capture leave this empty."""
    note: str = ""
    """What there is to say of the end in words that are no answer: which limit of its own the agent met."""
