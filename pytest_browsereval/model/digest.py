"""Short form of an attempt's record, for reading thousands of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_browsereval.errors import ErrorSource, TerminationReason
from pytest_browsereval.model.derived import Derived
from pytest_browsereval.model.grades import GraderResult, Verdict, differ
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.usage import Usage


@dataclass(frozen=True, slots=True)
class GradeDigest:
    """A grade without long texts, time and cost; the fields are those of ``GraderResult``."""

    # What differs from attempt to attempt stays out: the grades of most are the same object.

    grader: str
    verdict: Verdict
    score: float | None
    reasoning: str
    """Kept where one grader of the attempt passed and another one failed; else empty."""
    fingerprint: str
    advisory: bool
    outcome: str
    """Kept of the grade on what the row was derived by; else empty."""


class Line(NamedTuple):
    """Where the record of an attempt is."""

    file: str
    """The name of the file in ``attempts/``."""
    offset: int
    size: int
    """Bytes, without the end of the line."""
    hash: str
    """Of these bytes."""


@dataclass(frozen=True, slots=True)
class AttemptDigest:
    """An attempt without long texts; the fields are those of ``TaskMetadata``.

    ``line`` says where the rest is (query, answer, errors, warnings, the agent's block), for the few attempts
    whose details are shown.
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
    derived: Derived | None
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
    cost_usd: float | None
    verdict: Verdict
    error_source: ErrorSource | None
    reason: str
    stops_run: bool
    regraded_at: str | None
    best_progress: float | None
    revision: int
    grader_results: Mapping[str, GradeDigest]
    usage_values: tuple[Any, ...]
    """What ``usage`` consists of, in the order of its fields."""
    line: Line | None = field(default=None, compare=False)
    """Where the record is; None if it was not read from a run."""

    @property
    def usage(self) -> Usage:
        """Tokens, requests and money of the models."""
        return Usage(**dict(zip(Usage.model_fields, self.usage_values, strict=True)))


_FIELDS = [one.name for one in fields(AttemptDigest)][:-3]
_read_attempt = attrgetter(*_FIELDS)
_read_grade = attrgetter("grader", "verdict", "score", "fingerprint", "advisory")
_read_usage = attrgetter(*Usage.model_fields)


def digest(metadata: TaskMetadata, line: Line | None = None) -> AttemptDigest:
    """Return the short form of an attempt's record.

    Args:
        metadata: the record.
        line: where it is.
    """
    results = metadata.grader_results
    has_reasons = differ(results.values())
    own = None if metadata.derived is None else metadata.derived.by
    grades = tuple(
        (name, _digest_grade(one, has_reasons=has_reasons, has_outcome=name == own))
        for name, one in results.items()
    )
    kept: dict[str, Any] = dict(zip(_FIELDS, _read_attempt(metadata), strict=True))
    return AttemptDigest(
        **kept, grader_results=_keep_grades(grades), usage_values=_read_usage(metadata.usage), line=line
    )


def _digest_grade(grade: GraderResult, *, has_reasons: bool, has_outcome: bool) -> GradeDigest:
    grader, verdict, score, fingerprint, advisory = _read_grade(grade)
    reasoning, outcome = grade.reasoning if has_reasons else "", grade.outcome if has_outcome else ""
    return _keep_grade(grader, verdict, score, reasoning, fingerprint, advisory=advisory, outcome=outcome)


# Runs have few different ones of these: kept once, 200,000 attempts fit into memory.
_keep_grade = lru_cache(maxsize=4096)(GradeDigest)


@lru_cache(maxsize=4096)
def _keep_grades(grades: tuple[tuple[str, GradeDigest], ...]) -> Mapping[str, GradeDigest]:
    return MappingProxyType(dict(grades))
