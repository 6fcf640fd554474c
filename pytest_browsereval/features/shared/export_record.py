"""Records of attempts as exports write them into files of other tools."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from pytest_browsereval.model.display import format_count
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.redaction.marks import WITHHELD
from pytest_browsereval.redaction.text import well_formed

OURS = "browsereval"
"""The key of a record in a file of another tool."""

MEDIA = {".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".png": "image/png", ".webp": "image/webp"}
"""Types of pictures by their suffixes."""

DELEGATE = "delegate"
"""The tool by which an orchestrator hands over a goal."""

_LARGEST = 2**63
"""Readers in other languages have no larger numbers."""


def clean_json(value: Any) -> Any:
    """Return a value as JSON that every reader takes: numbers that JSON does not have stand as texts."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, Mapping):
        return {well_formed(str(key)): clean_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(one) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int):  # and a boolean
        return value if abs(value) < _LARGEST else hex(value)
    return None if value is None else well_formed(str(value))


class UniqueNames:
    """Ids of calls, unique in a trajectory: an agent may have given one twice."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def add(self, given: str) -> str:
        """Return an id, with a number if it was given before."""
        name, number = given, 1
        while name in self._known:
            number += 1
            name = f"{given}-{number}"
        self._known.add(name)
        return name


def describe_withheld(count: int) -> tuple[str, ...]:
    """Return what is left out of an export, as ``Exported`` has it: texts of so many attempts."""
    why = "texts of a benchmark's protected rows must not be passed on"
    return (f"texts and pictures of {format_count(count, 'attempt')}: {why}",) if count else ()


def withhold(record: TaskMetadata) -> TaskMetadata:
    """Return the record of a protected row without texts: verdict, scores, figures and settings stay."""
    errors = (one.model_copy(update={"message": WITHHELD, "details": None}) for one in record.errors)
    by = None if record.derived is None else record.derived.by
    grades = {name: _withhold_grade(one, is_own=name == by) for name, one in record.grader_results.items()}
    return record.model_copy(
        update={
            "query": WITHHELD,
            "protected": True,
            "start_url": None,
            "final_url": None,
            "final_answer": None if record.final_answer is None else WITHHELD,
            "reason": WITHHELD,
            "errors": tuple(errors),
            "warnings": tuple(one.model_copy(update={"message": WITHHELD}) for one in record.warnings),
            "grader_results": grades,
        }
    )


def _withhold_grade(grade: GraderResult, *, is_own: bool) -> GraderResult:
    kept = {"outcome": grade.outcome} if is_own else {}
    return grade.model_copy(update={"reasoning": WITHHELD, "criteria": (), "details": kept, "evidence": ()})


def describe_record(record: TaskMetadata, *, counts: bool) -> dict[str, Any]:
    """Return a record for a file of another tool.

    Args:
        record: of the attempt.
        counts: whether it is the last one of its trial.
    """
    grades = {
        name: grade.model_copy(update={"evidence": ()}) for name, grade in record.grader_results.items()
    }
    plain = record.model_copy(update={"grader_results": grades}).model_dump(
        mode="json", exclude_defaults=True
    )
    kept: dict[str, Any] = clean_json({**plain, "counts": counts})
    return kept
