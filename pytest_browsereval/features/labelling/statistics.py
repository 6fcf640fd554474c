"""Agreement beyond chance, and shares that are corrected for the errors of their judge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_browsereval.stats.statistics import (
    CONFIDENCE,
    NEXT_TO_NOTHING,
    Clustered,
    Interval,
    Share,
    quantile,
    students_t,
    wilson,
)


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa: the agreement of two judges beyond chance, 1 where they always agree."""

    value: float
    standard_error: float
    interval: Interval


@dataclass(frozen=True)
class Estimate:
    """A value and where it lies."""

    value: float
    interval: Interval


def rogan_gladen(
    seen: Share,
    sensitivity: Share,
    specificity: Share,
    confidence: float = CONFIDENCE,
    *,
    by: Clustered | None = None,
) -> Estimate | None:
    """Return a share corrected for the errors of its judge.

    The estimate is ``(seen + specificity - 1) / (sensitivity + specificity - 1)`` of Rogan and Gladen (1978),
    bounded to 0 and 1. The interval is that of Lang and Reiczigel (2014, Preventive Veterinary Medicine 113,
    13-22): by the delta method, with the errors of all three shares, of which each is moved to the middle (by
    ``z * z`` cases, and by two for each of the others), and with a shift of the centre.

    Args:
        seen: what was counted, of how many.
        sensitivity: of what is truly so, what is counted; of cases other than those of ``specificity``.
        specificity: of what is truly not so, what is not counted.
        confidence: of the interval.
        by: the same share by groups that are alike inside; it then counts as the independent cases that have
            its error, fewer by as much as Student's t is larger than z (Korn and Graubard 1998).

    Returns:
        None where sensitivity and specificity, as they are or moved to the middle, are together not more
        than 1: what is counted has then nothing to do with what is so.

    Raises:
        ValueError: one of the shares is of nothing.
    """
    if seen.value is None or sensitivity.value is None or specificity.value is None:
        raise ValueError("a share of nothing cannot be corrected, and corrects nothing")
    z = quantile(confidence)
    of = by.cases * (z / students_t(by.groups - 1, confidence)) ** 2 if by else seen.of
    cases = of + z * z
    p = (seen.value * of + z * z / 2) / cases
    se, sp = ((share.hits + 1) / (share.of + 2) for share in (sensitivity, specificity))
    youden = se + sp - 1
    if min(youden, sensitivity.value + specificity.value - 1) <= 0:
        return None
    middle = (p + sp - 1) / youden
    of_se, of_sp = se * (1 - se) / (sensitivity.of + 2), sp * (1 - sp) / (specificity.of + 2)
    variance = p * (1 - p) / cases + middle**2 * of_se + (1 - middle) ** 2 * of_sp
    centre = middle + 2 * z * z * (middle * of_se - (1 - middle) * of_sp)
    reach = z * math.sqrt(variance) / youden
    value = (seen.value + specificity.value - 1) / (sensitivity.value + specificity.value - 1)
    return Estimate(_bound(value), Interval(_bound(centre - reach), _bound(centre + reach)))


def _bound(value: float) -> float:
    return min(1.0, max(0.0, value))


def cohens_kappa(table: Sequence[Sequence[int]], confidence: float = CONFIDENCE) -> Kappa | None:
    """Return Cohen's kappa of a square table of counts, rows by one judge and columns by the other.

    Its interval is by the asymptotic standard error of Fleiss, Cohen and Everitt (1969). That error is 0
    where all agree, or where one judge says the same of all, however few cases there are; the interval then
    follows from Wilson's of the observed agreement, with chance held fixed as Cohen (1960) holds it.

    Returns:
        None where it is not defined: there is no case, or both judges say the same of all.
    """
    total = sum(map(sum, table))
    if not total:
        return None
    rows = [sum(row) / total for row in table]
    columns = [sum(column) / total for column in zip(*table, strict=True)]
    chance = sum(row * column for row, column in zip(rows, columns, strict=True))
    agreed = sum(table[place][place] for place in range(len(table)))
    if math.isclose(chance, 1):
        return None
    value = (agreed / total - chance) / (1 - chance)
    error = math.sqrt(max(0.0, _variance(table, rows, columns, value)))
    if error > NEXT_TO_NOTHING:
        reach = quantile(confidence) * error
        low, high = value - reach, value + reach
    else:
        seen = wilson(agreed, total, confidence)
        low, high = ((end - chance) / (1 - chance) for end in (seen.low, seen.high))
    return Kappa(value, error, Interval(max(-1.0, low), min(1.0, high)))


def _variance(
    table: Sequence[Sequence[int]], rows: Sequence[float], columns: Sequence[float], kappa: float
) -> float:
    """Return formula 13 of Fleiss, Cohen and Everitt (1969), without its large-sample null hypothesis."""
    total, places = sum(map(sum, table)), range(len(table))
    chance = sum(rows[i] * columns[i] for i in places)
    same = sum(table[i][i] / total * (1 - (rows[i] + columns[i]) * (1 - kappa)) ** 2 for i in places)
    other = sum(table[i][j] / total * (columns[i] + rows[j]) ** 2 for i in places for j in places if i != j)
    rest = kappa - chance * (1 - kappa)
    return (same + (1 - kappa) ** 2 * other - rest * rest) / (total * (1 - chance) ** 2)
