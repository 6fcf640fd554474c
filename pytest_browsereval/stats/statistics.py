"""Figures with their uncertainty: shares, alone and of groups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

CONFIDENCE = 0.95

# The chance that a run with the recommended number of tasks decides. 80 % is the convention (Cohen 1988).
POWER = 0.8

# A smaller standard error is 0 but for rounding.
NEXT_TO_NOTHING = 1e-6


@dataclass(frozen=True)
class Interval:
    """Where the true value lies, with a confidence of 95 % by default."""

    low: float
    high: float

    def as_json(self) -> list[float]:
        """Return both ends."""
        return [self.low, self.high]


@dataclass(frozen=True)
class Share:
    """How many of how many."""

    hits: int
    of: int

    @property
    def value(self) -> float | None:
        """From 0 to 1; None of nothing."""
        return self.hits / self.of if self.of else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's interval; None of nothing."""
        return wilson(self.hits, self.of) if self.of else None


def quantile(confidence: float = CONFIDENCE) -> float:
    """Return how many standard errors an interval reaches to each side: 1.96 for 95 %."""
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile of values, interpolated linearly between the two that are nearest to it.

    Of n values in order it is at the place ``(n - 1) * share``, counted from 0: definition 7 of Hyndman and
    Fan (1996), which numpy calls ``linear``.

    Args:
        values: in any order.
        share: from 0 to 1; 0.95 is the 95th percentile.

    Raises:
        ValueError: there is no value, or no such share.
    """
    if not values or not 0 <= share <= 1:
        raise ValueError(f"{len(values)} values have no percentile at {share:g}")
    ordered = sorted(values)
    place = (len(ordered) - 1) * share
    below = math.floor(place)
    low, high = ordered[below], ordered[min(below + 1, len(ordered) - 1)]
    return low + (high - low) * (place - below)


def wilson(hits: int, of: int, confidence: float = CONFIDENCE) -> Interval:
    """Return Wilson's score interval of a share.

    It keeps its confidence for few cases and at 0 and 1, where the usual one has no width (Wilson 1927;
    Newcombe 1998, method 3).

    Raises:
        ValueError: there is no such share.
    """
    if not 0 <= hits <= of or not of:
        raise ValueError(f"{hits} of {of} is not a share")
    return _score_interval(hits / of, of, quantile(confidence))


def _score_interval(rate: float, of: float, z: float) -> Interval:
    spread = z * math.sqrt(rate * (1 - rate) / of + z * z / (4 * of * of))
    middle, scale = rate + z * z / (2 * of), 1 + z * z / of
    low = 0.0 if rate == 0 else max(0.0, (middle - spread) / scale)
    return Interval(low, 1.0 if rate == 1 else min(1.0, (middle + spread) / scale))


@dataclass(frozen=True)
class Clustered:
    """A share whose cases come in groups that are alike inside: pages of one site."""

    value: float
    standard_error: float
    groups: int
    interval: Interval
    cases: float
    """As many independent ones have that error."""


def pool_groups(groups: Iterable[Share], confidence: float = CONFIDENCE) -> Clustered | None:
    """Return the share of all groups together, with an error that allows for likeness inside.

    The standard error is the sandwich one of a mean over clusters, times ``G / (G - 1)`` in the variance
    (Liang and Zeger 1986). The interval is Wilson's of as many independent cases as have that error, by
    Student's t of ``G - 1`` (Korn and Graubard 1998): never more of them than there are cases, and only as
    many as groups where all cases are the same, which says nothing of the likeness.

    Args:
        groups: hits and cases of each.
        confidence: of the interval.

    Returns:
        None for fewer than two groups with a case.
    """
    shares = [share for share in groups if share.of]
    hits, of, count = sum(s.hits for s in shares), sum(s.of for s in shares), len(shares)
    if count < 2:
        return None
    rate = hits / of
    squares = math.fsum((share.hits - rate * share.of) ** 2 for share in shares)
    error = math.sqrt(count / (count - 1) * squares) / of
    if 0 < hits < of:
        cases = of if error < NEXT_TO_NOTHING else min(of, rate * (1 - rate) / error**2)
    else:
        cases = count
    ends = _score_interval(rate, cases, students_t(count - 1, confidence))
    return Clustered(rate, error, count, ends, cases)


@lru_cache(maxsize=256)
def students_t(freedom: int, confidence: float = CONFIDENCE) -> float:
    """Return how many standard errors an interval reaches to each side where the error is estimated.

    Args:
        freedom: degrees of freedom, at least 1.
        confidence: of the interval.
    """
    low, high = 0.0, math.pi / 2  # the angle whose tangent is t / sqrt(freedom)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, freedom) < confidence else (low, middle)
    return math.tan(low) * math.sqrt(freedom)


def _within(angle: float, freedom: int) -> float:
    """Return the probability between -t and t: Abramowitz and Stegun 26.7.3 and 26.7.4."""
    sine, cosine = math.sin(angle), math.cos(angle)
    is_odd = freedom % 2
    term = cosine if is_odd else 1.0
    total = term if freedom > 1 else 0.0
    for step in range(2 + is_odd, freedom - 1, 2):
        term *= (step - 1) / step * cosine * cosine
        total += term
    return 2 / math.pi * (angle + sine * total) if is_odd else sine * total
