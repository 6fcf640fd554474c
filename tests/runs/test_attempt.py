"""Digests: what is kept of an attempt says the same as its whole record."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest

from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.runs.attempt import GradeDigest, StoredAttempt
from tests.recorded import ERRORED, FAILED, PASSED, attempt, stored

USAGE = Usage(input_tokens=5, output_tokens=6, cache_read_tokens=1, requests=2, cost_usd=0.5)
GRADES = {
    "answer": GraderResult(grader="answer", verdict=FAILED, score=0.25, reasoning="no", fingerprint="f-1"),
    "judge": GraderResult(
        grader="judge", verdict=ERRORED, reasoning="late", advisory=True, cost_usd=0.125, duration_ms=7.5
    ),
}
ATTEMPTS: dict[str, TaskMetadata] = {
    "plain": attempt(),
    "without grades": attempt("b", ERRORED, grader_results={}, stops_run=True, total_duration_ms=None),
    "with grades": attempt("c", FAILED, grader_results=GRADES, regraded_at="2025-01-02T00:00:00.000Z"),
    "of a model": attempt("d", PASSED, usage=USAGE, cost_usd=None, agent_duration_ms=None),
    "named": attempt(
        "e", variant="x", trial=3, attempt=2, node_id="f::e", tags=("t", "ü"), website="shop", row_hash="0a"
    ),
}


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_has_the_values_of_the_record(name: str) -> None:
    """Every field has the value of the record, also in each grade."""
    metadata = ATTEMPTS[name]
    kept = stored(metadata)
    for field in fields(StoredAttempt):
        if field.name not in ("grader_results", "line", "run"):
            assert getattr(kept, field.name) == getattr(metadata, field.name), field.name
    assert kept.usage == metadata.usage
    assert list(kept.grader_results) == list(metadata.grader_results)
    for label, grade in kept.grader_results.items():
        assert _of(grade) == _of(metadata.grader_results[label]) | {"reasoning": ""}


def test_an_attempt_says_why_graders_differ() -> None:
    """The reasoning is kept where one has passed and another one failed: a summary names these."""
    other = GraderResult(grader="state", verdict=PASSED, reasoning="yes")
    kept = stored(attempt(grader_results={**GRADES, "state": other}))
    assert [grade.reasoning for grade in kept.grader_results.values()] == ["no", "late", "yes"]


def _of(grade: GradeDigest | GraderResult) -> dict[str, Any]:
    return {name: getattr(grade, name) for name in GradeDigest._fields}
