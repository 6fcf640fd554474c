"""Short form of an attempt's record, for reading thousands of them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from pytest_browsereval.errors import ErrorSource, TerminationReason
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.usage import Usage


@dataclass(frozen=True, slots=True)
class GradeDigest:
    """A grade without criteria, details and evidence; the fields are those of ``GraderResult``."""

    grader: str
    verdict: Verdict
    score: float | None
    reasoning: str
    fingerprint: str
    advisory: bool
    cost_usd: float | None
    duration_ms: float | None


@dataclass(frozen=True, slots=True)
class AttemptDigest:
    """An attempt without long texts; the fields are those of ``TaskMetadata``.

    ``read_metadata`` reads the rest (query, answer, errors, warnings, the agent's block) from the attempt's
    folder, for the few attempts whose details are shown.
    """

    # Slots and no pydantic model: a comparison keeps all attempts of two runs in memory.

    query_id: str
    dataset: str
    variant: str
    trial: int
    attempt: int
    node_id: str
    tags: tuple[str, ...]
    website: str | None
    row_hash: str
    replayed: bool
    started_at: str
    completed_at: str
    total_duration_ms: float | None
    agent_duration_ms: float | None
    grading_duration_ms: float
    total_steps: int
    warning_count: int
    screenshot_count: int
    termination_reason: TerminationReason
    grader_results: dict[str, GradeDigest]
    usage: Usage
    cost_usd: float | None
    verdict: Verdict
    error_source: ErrorSource | None
    reason: str
    stops_run: bool
    regraded_at: str | None


_OF_ATTEMPT = tuple(field.name for field in fields(AttemptDigest) if field.name != "grader_results")
_OF_GRADE = tuple(field.name for field in fields(GradeDigest))


def digest(metadata: TaskMetadata) -> AttemptDigest:
    """Return the short form of an attempt's record."""
    grades = {name: _grade(grade) for name, grade in metadata.grader_results.items()}
    kept: dict[str, Any] = {name: getattr(metadata, name) for name in _OF_ATTEMPT}
    return AttemptDigest(**kept, grader_results=grades)


def _grade(grade: GraderResult) -> GradeDigest:
    kept: dict[str, Any] = {name: getattr(grade, name) for name in _OF_GRADE}
    return GradeDigest(**kept)
