"""Records of an attempt: result, errors, warnings, metadata."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from pytest_browsereval.errors import ErrorSource, TerminationReason
from pytest_browsereval.model.derived import Derived
from pytest_browsereval.model.grades import GraderResult, Verdict, split_grades
from pytest_browsereval.model.messages import DelegationStatus, Message
from pytest_browsereval.model.probe import Probe
from pytest_browsereval.model.progress import Progress
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.model.usage import Usage


class TaskError(BaseModel):
    """An error of an attempt."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    source: ErrorSource
    message: str
    timestamp: str
    details: dict[str, JsonValue] | None = None


class EvalWarning(BaseModel):
    """Something that a reader should know, though the attempt continued."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    source: ErrorSource
    message: str
    timestamp: str


class TaskMetadata(BaseModel):
    """A line of ``attempts/*.jsonl``: what a finished attempt came to. ``metadata.json`` is a copy of it."""

    # New keys need a default: runs of earlier versions are read, resumed and compared.

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
    protected: bool | None = None
    """Whether answers of the row are never written in plain text; None in records of earlier versions."""
    derived: Derived | None = None
    """What the row was derived from, and by what; None for a row as the dataset has it."""
    replayed: bool = False
    """True if model calls came from a cassette; usage and cost are then those of the recording."""
    start_url: str | None = None
    started_at: str
    """ISO 8601, UTC; empty for an attempt of another system that has not recorded it."""
    completed_at: str
    total_duration_ms: float | None = Field(ge=0)
    """None for an attempt of another system that has not recorded it."""
    agent_duration_ms: float | None = Field(default=0.0, ge=0)
    grading_duration_ms: float = Field(default=0.0, ge=0)
    total_steps: int = Field(ge=0)
    """Tool calls, regardless of the agent."""
    screenshot_count: int = Field(default=0, ge=0)
    termination_reason: TerminationReason
    final_answer: str | None  # no default: an importer that forgets the answer would lose it silently
    errors: tuple[TaskError, ...] = ()
    warnings: tuple[EvalWarning, ...] = ()
    agent_config: dict[str, JsonValue] = Field(default_factory=dict)
    grader_results: dict[str, GraderResult] = Field(default_factory=dict)
    usage: Usage = Usage()
    usage_by_role: dict[str, Usage] = Field(default_factory=dict)
    """Usage of each model, orchestrator and executor for example; empty if there is only one."""
    cost_usd: float | None = Field(default=None, ge=0)
    """The cost of the agent and of every grading; None if a part is unknown, 0 without model calls."""
    verdict: Verdict
    error_source: ErrorSource | None = None
    """Set if and only if the verdict is *errored*."""
    reason: str = ""
    """The reason for the verdict, in one line."""
    limit: str = ""
    """The limit that ended the agent, with its value; empty if the agent ended on its own."""
    went_on_s: float = Field(default=0.0, ge=0)
    """How long an agent that caught the limit continued; a page that passes then is *errored*, not passed."""
    broken_page: str = ""
    """The error of a site of the run that the attempt ended on, led there by the site; else empty."""
    stops_run: bool = False
    """True if every further attempt would meet the same fault."""
    final_url: str | None = None
    download_count: int | None = Field(default=None, ge=0)
    """How many downloads have begun; None where the browser does not say."""
    page_request_count: int | None = Field(default=None, ge=0)
    """How many requests of pages a check had recorded; None where none did."""
    conditions: tuple[str, ...] = ()
    """What the window was like: ``device=iPhone 15``, ``clock=2026-03-01T09:00:00+01:00``."""
    revision: int = Field(default=1, ge=1)
    """Of several lines of an attempt, the one with the highest revision counts."""
    run_id: str | None = None
    """The run that has made it, also in a run that was merged; None in records of earlier versions."""
    regraded_at: str | None = None
    """When the attempt was last regraded. Grades, verdict, reason and the grading's duration are those of the
    regrade; earlier ones are in earlier lines of the attempt."""
    long_texts: tuple[tuple[str | int, ...], ...] = Field(default=(), exclude=True)
    """Where texts of more than 64,000 characters belong, the last being the name of the file that has it."""
    progress: Progress | None = None
    """Which checks held on the way; None unless ``capture.checks`` is ``each`` and a page can answer some."""
    probe: Probe | None = None
    """The outcome of the row's known way after the attempt failed; None if none was played."""

    @property
    def key(self) -> TrialKey:
        """Which trial it is an attempt at."""
        return TrialKey(self.query_id, self.variant, self.trial)

    @property
    def is_answered(self) -> bool:
        """Whether the agent ended on its own, with an answer: it says that the task is done."""
        return self.final_answer is not None and not self.limit

    @property
    def known_way(self) -> str | None:
        """What the known way of the row came to, in words, where the attempt did not pass."""
        return self.probe.reason if self.probe and self.verdict is not Verdict.PASSED else None

    @property
    def best_progress(self) -> float | None:
        """How far the attempt came, from 0 to 1; None if that is not known."""
        return None if self.progress is None else self.progress.share

    @property
    def side_effects(self) -> int | None:
        """How many changes the row does not name; None where none were looked for, or something broke."""
        counts = (details.get("side_effects") for _, details in split_grades(self.grader_results))
        return next((count for count in counts if isinstance(count, int)), None)

    @property
    def warning_count(self) -> int:
        """The number of warnings and errors."""
        return len(self.warnings) + len(self.errors)


class ExecutorRecord(BaseModel):
    """``executors/<executor_id>.json``: one delegation, and what its executor saw of the page.

    The executor's messages have the span as their ``parent_id``.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    executor_id: str
    span_id: str
    agent: str
    """The type of the agent."""
    instruction: str
    status: DelegationStatus | None
    """None if the attempt ended first."""
    summary: str
    """The executor's report; if there is none, why it ended."""
    termination_reason: TerminationReason | None
    """Why the executor stopped; None if it was stopped."""
    steps_used: int = Field(ge=0)
    start_url: str | None
    current_url: str | None
    """The address of the window at the end."""
    started_at: str
    duration_ms: float = Field(ge=0)
    pictures: tuple[int, ...] = ()
    """The numbers of the pictures taken during the delegation."""
    usage: Usage = Usage()


@dataclass(frozen=True)
class AgentResult:
    """The result of ``AgentEvaluator.execute()``."""

    final_answer: str | None
    """The agent's answer; None if it gave none."""
    termination_reason: TerminationReason = TerminationReason.COMPLETED
    messages: tuple[Message, ...] = field(default=(), repr=False)
    """Messages that are not in the log yet; empty for agents that use the capture."""
    note: str = ""
    """A remark about the end that is not an answer: which of its own limits the agent has met."""


def make_metadata(task: Task, key: TrialKey, node_id: str, *, row_hash: str, **figures: Any) -> TaskMetadata:
    """Return the metadata of an attempt: what its row and its trial say, and what it came to.

    Args:
        task: the row.
        key: the trial.
        node_id: of the item.
        row_hash: of the row before plug-ins changed it and placeholders were filled in.
        figures: the other fields of ``TaskMetadata``.
    """
    return TaskMetadata(
        query_id=key.query_id,
        dataset=task.dataset,
        query=task.query,
        variant=key.variant,
        trial=key.trial,
        node_id=node_id,
        tags=task.tags,
        website=task.metadata.website,
        row_hash=row_hash,
        protected=task.protected,
        **figures,
    )
