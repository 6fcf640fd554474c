"""Grades side by side: what they cost together, and whether they disagree."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from pytest_browsereval.model.grades import GraderResult, Verdict, cost_of, differ
from pytest_browsereval.model.usage import Usage

PASSED, FAILED, ERRORED = Verdict


def grade(cost_usd: float | None, requests: int = 0, verdict: Verdict = ERRORED) -> GraderResult:
    score = {PASSED: 1.0, FAILED: 0.0, ERRORED: None}[verdict]
    usage = Usage(requests=requests)
    return GraderResult(grader="g", verdict=verdict, score=score, usage=usage, cost_usd=cost_usd)


@pytest.mark.parametrize(
    ("grades", "cost"),
    [
        ([], 0.0),
        ([grade(None)], 0.0),  # no model was asked
        ([grade(0.25, 2), grade(None), grade(0.5, 1)], 0.75),
        ([grade(0.25, 2), grade(None, 1)], None),
        ([grade(0.0)], 0.0),  # all replies were read again from the record
    ],
)
def test_an_unknown_price_makes_the_cost_unknown(grades: list[GraderResult], cost: float | None) -> None:
    """Only for a grade that has asked a model; others cost nothing."""
    assert cost_of(grades) == cost


def test_an_errored_grade_has_no_score() -> None:
    """Not even 0, which a mean would count."""
    with pytest.raises(ValidationError, match="is errored, so it cannot have the score 0"):
        GraderResult(grader="g", verdict=ERRORED, score=0.0)


@pytest.mark.parametrize(
    ("verdicts", "is_split"),
    [([], False), ([PASSED, PASSED], False), ([PASSED, ERRORED], False), ([FAILED, ERRORED, PASSED], True)],
)
def test_only_verdicts_can_disagree(verdicts: list[Verdict], is_split: bool) -> None:  # noqa: FBT001
    """An errored grade does not count."""
    assert differ(grade(0.0, verdict=verdict) for verdict in verdicts) is is_split
