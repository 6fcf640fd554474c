"""Weighted means of grades, of which some may have no score."""

from __future__ import annotations

from collections.abc import Iterable

from pytest_browsereval.model.grades import Verdict


def weighted_mean(scores: Iterable[tuple[float, float | None]], unknown: float | None = None) -> float:
    """Return the weighted mean of scores, 0 without any.

    Args:
        scores: each after its weight; None for a grade that has none.
        unknown: what such a grade counts; None leaves it out.
    """
    known = [(weight, unknown if score is None else score) for weight, score in scores]
    scored = [(weight, score) for weight, score in known if score is not None]
    total = sum(weight for weight, _ in scored)
    return round(sum(weight * score for weight, score in scored) / total, 9) if total else 0.0


def decide_by_mean(
    scores: Iterable[tuple[float, float | None]], threshold: float
) -> tuple[Verdict, float, float]:
    """Return the verdict of a weighted mean, and the least and the most that it can be.

    A grade without a score could have had any: only what holds in both extreme cases is decided.
    """
    scores = list(scores)
    least, most = weighted_mean(scores, 0.0), weighted_mean(scores, 1.0)
    if least >= threshold:
        return Verdict.PASSED, least, most
    return Verdict.FAILED if most < threshold else Verdict.ERRORED, least, most
