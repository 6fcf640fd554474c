"""Short form of an attempt's record, for reading thousands of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from pytest_browsereval.errors import ErrorSource, TerminationReason
from pytest_browsereval.model.grades import ATTACK, Verdict, differ
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
    attack: str | None
    """The attack that it was made under; its grade is named ``attack``."""
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
    grader_results: Mapping[str, GradeDigest]
    usage_text: str
    """What ``usage`` consists of, as JSON in the order of its fields."""
    cost_usd: float | None
    verdict: Verdict
    error_source: ErrorSource | None
    reason: str
    stops_run: bool
    regraded_at: str | None
    best_progress: float | None
    grades_stamp: int | None = field(default=None, compare=False)
    """A hash over the stamp of ``grades.json`` as it was found to agree; None where nobody has looked."""
    record_stamp: int | None = field(default=None, compare=False)
    """A hash over the stamp of the record, where an index says it."""

    @property
    def is_compromised(self) -> bool:
        """True if it was made under an attack that has reached its goal."""
        grade = self.grader_results.get(ATTACK)
        return self.attack is not None and grade is not None and grade.score == 0

    @property
    def is_undelivered(self) -> bool:
        """True if it passed under an attack that the agent could not meet."""
        grade = self.grader_results.get(ATTACK)
        is_unknown = grade is None or grade.score is None
        return self.attack is not None and self.verdict is Verdict.PASSED and is_unknown

    @property
    def usage(self) -> Usage:
        """Tokens, requests and money of the models."""
        return Usage(**dict(zip(_USAGE, json.loads(self.usage_text), strict=True)))


_FIELDS = tuple(one.name for one in fields(AttemptDigest) if one.compare)
_OF_ATTEMPT = tuple(name for name in _FIELDS if name not in ("grader_results", "usage_text"))
_OF_GRADE = tuple(one.name for one in fields(GradeDigest))
_USAGE = tuple(Usage.model_fields)


def digest(metadata: TaskMetadata, grades_stamp: int | None = None) -> AttemptDigest:
    """Return the short form of an attempt's record.

    Args:
        metadata: the record.
        grades_stamp: a hash over the stamp of its ``grades.json``, if that agrees with it.
    """
    results = metadata.grader_results
    cut = {} if differ(results.values()) else {"reasoning": ""}
    grades = {
        name: GradeDigest(**{key: getattr(grade, key) for key in _OF_GRADE} | cut)
        for name, grade in results.items()
    }
    kept: dict[str, Any] = {name: getattr(metadata, name) for name in _OF_ATTEMPT}
    kept["usage_text"] = json.dumps([getattr(metadata.usage, name) for name in _USAGE])
    kept["tags"] = _keep_tags(metadata.tags)
    kept["grader_results"] = _keep_grades(tuple(grades.items()))
    return AttemptDigest(**kept, grades_stamp=grades_stamp)


# -- digests as JSON

FORM = " ".join((*_FIELDS, *_OF_GRADE, *_USAGE))
"""What the values of ``pack_digest`` are, in their order; a version that keeps other fields has another."""

_PLACES = {name: place for place, name in enumerate(_FIELDS)}
_TAGS, _GRADES = _PLACES["tags"], _PLACES["grader_results"]
_END, _VERDICT, _SOURCE = (_PLACES[name] for name in ("termination_reason", "verdict", "error_source"))
_ENDS = {str(one): one for one in TerminationReason}
_VERDICTS = {str(one): one for one in Verdict}
_SOURCES: dict[str | None, ErrorSource | None] = {None: None, **{str(one): one for one in ErrorSource}}


def pack_digest(data: AttemptDigest) -> list[Any]:
    """Return a digest as JSON, without the names of its fields; its grades are a text."""
    values = [getattr(data, name) for name in _FIELDS]
    grades = [[name, *(getattr(one, key) for key in _OF_GRADE)] for name, one in data.grader_results.items()]
    values[_GRADES] = json.dumps(grades)
    return values


def unpack_digest(
    values: list[Any], grades_stamp: int | None, record_stamp: int | None = None
) -> AttemptDigest:
    """Return the digest of what ``pack_digest`` has returned; nothing but its form is checked.

    Args:
        values: which are changed.
        grades_stamp: a hash over the stamp of ``grades.json``, where that is known to agree.
        record_stamp: a hash over the stamp of the record.

    Raises:
        ValueError: these are the values of another form.
        TypeError: the same.
    """
    try:
        # Runs have few different ones of these: kept once, 200,000 attempts fit into memory.
        values[_TAGS] = _keep_tags(tuple(values[_TAGS]))
        values[_GRADES] = _unpack_grades(values[_GRADES])
        values[_END] = _ENDS[values[_END]]
        values[_VERDICT] = _VERDICTS[values[_VERDICT]]
        values[_SOURCE] = _SOURCES[values[_SOURCE]]
    except LookupError:
        raise ValueError("an unknown value, or too few of them") from None
    values += grades_stamp, record_stamp
    return AttemptDigest(*values)


@lru_cache(maxsize=4096)
def _keep_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    return tags


@lru_cache(maxsize=4096)
def _keep_grades(grades: tuple[tuple[str, GradeDigest], ...]) -> Mapping[str, GradeDigest]:
    return MappingProxyType(dict(grades))


@lru_cache(maxsize=4096)
def _unpack_grades(text: str) -> Mapping[str, GradeDigest]:
    return MappingProxyType({name: _unpack(*grade) for name, *grade in json.loads(text)})


def _unpack(grader: str, verdict: str, score: float | None, reasoning: str, *rest: Any) -> GradeDigest:
    return GradeDigest(sys.intern(grader), _VERDICTS[verdict], score, reasoning, *rest)
