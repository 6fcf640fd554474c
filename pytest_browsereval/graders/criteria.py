"""Criteria of a grade, and their summary in a sentence and a share."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from pytest_browsereval.graders.values import clip
from pytest_browsereval.model.grades import Criterion, Verdict


def make_criterion(
    name: str, problem: str, *, expected: JsonValue = None, actual: JsonValue = None, weight: float = 1.0
) -> Criterion:
    """Return a criterion that passes unless there is a problem; long values are cut.

    Args:
        name: what reports call it.
        problem: why it fails, "" if it passes.
        expected: what should be.
        actual: what is.
        weight: how much it counts.
    """
    return Criterion(
        name=name,
        verdict=Verdict.FAILED if problem else Verdict.PASSED,
        # A state of a megabyte in each criterion would make reports that no browser opens.
        expected=clip(expected),
        actual=clip(actual),
        reason=problem,
        weight=weight,
    )


def summarize(criteria: Sequence[Criterion], note: str = "") -> str:
    """Return how many criteria pass, with a note on how they were compared, and why others do not."""
    failed = list_failed(criteria)
    held = f"{len(criteria) - len(failed)} of {len(criteria)} checks passed{note}"
    return "; ".join([held, *(f"{one.name}: {one.reason}" for one in failed)])


def list_failed(criteria: Sequence[Criterion]) -> list[Criterion]:
    """Return the criteria that do not pass."""
    return [one for one in criteria if one.verdict is not Verdict.PASSED]


def compute_share(criteria: Sequence[Criterion]) -> float:
    """Return the weighted share of criteria that passed, from 0 to 1."""
    if not list_failed(criteria):
        return 1.0  # exactly: the sums of weights such as 0.1 may differ in their last digit
    total = sum(one.weight for one in criteria)
    reached = sum(one.weight for one in criteria if one.verdict is Verdict.PASSED)
    return min(1.0, reached / total) if total else 0.0
