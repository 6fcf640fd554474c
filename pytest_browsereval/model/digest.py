"""Short form of an attempt's record, for reading thousands of them."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import Any

from pytest_browsereval.errors import ErrorSource, TerminationReason
from pytest_browsereval.model.grades import Verdict
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
    grades_stamp: int | None = field(default=None, compare=False)
    """A hash over the stamp of ``grades.json`` as it was found to agree; None where nobody has looked."""


_FIELDS = tuple(one.name for one in fields(AttemptDigest) if one.name != "grades_stamp")
_OF_ATTEMPT = tuple(name for name in _FIELDS if name != "grader_results")
_OF_GRADE = tuple(one.name for one in fields(GradeDigest))


def digest(metadata: TaskMetadata, grades_stamp: int | None = None) -> AttemptDigest:
    """Return the short form of an attempt's record.

    Args:
        metadata: the record.
        grades_stamp: a hash over the stamp of its ``grades.json``, if that agrees with it.
    """
    grades = {
        name: GradeDigest(**{key: getattr(grade, key) for key in _OF_GRADE})
        for name, grade in metadata.grader_results.items()
    }
    kept: dict[str, Any] = {name: getattr(metadata, name) for name in _OF_ATTEMPT}
    return AttemptDigest(**kept, grader_results=grades, grades_stamp=grades_stamp)


# -- digests as JSON

_USAGE = tuple(Usage.model_fields)

FORM = " ".join((*_FIELDS, *_OF_GRADE, *_USAGE))
"""What the values of ``pack_digest`` are, in their order; a version that keeps other fields has another."""


def pack_digest(data: AttemptDigest) -> list[Any]:
    """Return a digest as JSON, without the names of its fields."""
    grades = {
        name: [getattr(grade, field) for field in _OF_GRADE] for name, grade in data.grader_results.items()
    }
    usage = [getattr(data.usage, name) for name in _USAGE]
    own = {"grader_results": grades, "usage": usage}
    return [own[name] if name in own else getattr(data, name) for name in _FIELDS]


def unpack_digest(values: list[Any], grades_stamp: int | None) -> AttemptDigest:
    """Return the digest of what ``pack_digest`` has returned; nothing but its form is checked.

    Raises:
        ValueError: these are the values of another form.
        TypeError: the same.
    """
    kept = dict(zip(_FIELDS, values, strict=True))
    # Runs have few different ones of these: kept once, 200,000 attempts fit into memory.
    for name in ("dataset", "variant"):
        kept[name] = sys.intern(kept[name])
    source = kept["error_source"]
    kept.update(
        tags=tuple(map(sys.intern, kept["tags"])),
        usage=_make_usage(*kept["usage"]),
        termination_reason=TerminationReason(kept["termination_reason"]),
        verdict=Verdict(kept["verdict"]),
        error_source=None if source is None else ErrorSource(source),
        grader_results={sys.intern(name): _unpack(*grade) for name, grade in kept["grader_results"].items()},
    )
    return AttemptDigest(**kept, grades_stamp=grades_stamp)


def _unpack(
    grader: str, verdict: str, score: float | None, reasoning: str, fingerprint: str, *rest: Any
) -> GradeDigest:
    return GradeDigest(sys.intern(grader), Verdict(verdict), score, reasoning, sys.intern(fingerprint), *rest)


@lru_cache(maxsize=1024)
def _make_usage(*values: Any) -> Usage:
    return Usage(**dict(zip(_USAGE, values, strict=True)))
