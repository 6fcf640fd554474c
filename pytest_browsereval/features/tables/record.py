"""What tables have of a record: a third of the time that the whole one takes to read."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import FiniteFloat, TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from pytest_browsereval.model.results import TaskMetadata


class _Criterion(TypedDict):
    verdict: Literal["passed", "failed", "errored"]


class GradeRecord(TypedDict):
    """A grade; what the keys mean is said at ``GraderResult``."""

    verdict: Literal["passed", "failed", "errored"]
    score: FiniteFloat | None
    reasoning: str
    criteria: list[_Criterion]
    fingerprint: str
    advisory: bool
    cost_usd: FiniteFloat | None
    duration_ms: FiniteFloat | None


class _Usage(TypedDict):
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    requests: int


class Record(TypedDict):
    """An attempt; what the keys mean is said at ``TaskMetadata``."""

    protected: bool | None
    verdict: Literal["passed", "failed", "errored"]
    reason: str
    error_source: str | None
    termination_reason: str
    final_answer: str | None
    website: str | None
    dataset: str
    tags: list[str]
    row_hash: str
    agent_config: dict[str, Any]
    started_at: str
    completed_at: str
    total_duration_ms: FiniteFloat | None
    agent_duration_ms: FiniteFloat | None
    grading_duration_ms: FiniteFloat
    total_steps: int
    screenshot_count: int
    errors: list[Any]
    warnings: list[Any]
    usage: _Usage
    cost_usd: FiniteFloat | None
    node_id: str
    grader_results: dict[str, GradeRecord]


_lean = TypeAdapter(Record)
_whole = TypeAdapter(TaskMetadata)


def parse_record(content: bytes) -> Record | None:
    """Return a record; None if it is damaged."""
    try:
        found = _lean.validate_json(content)
        usage = found["usage"]
        if usage["requests"] or not (usage["input_tokens"] or usage["output_tokens"]):
            return found
    except ValidationError:  # an earlier version lacks some keys
        pass
    try:
        return as_record(_whole.validate_json(content))
    except ValidationError:
        return None


def as_record(metadata: TaskMetadata) -> Record:
    """Return the same of a record that was read as a whole."""
    return _lean.validate_python(metadata.model_dump(mode="json"))
