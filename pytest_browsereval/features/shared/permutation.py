"""Permutation test for repeated trials.

If both sides are alike, what is one side's might as well be the other's. Each task is exchanged by itself,
and the p-value is the share of all such worlds whose difference is as large or larger (Fisher 1935).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from statistics import fmean
from typing import NamedTuple

# A sum of more different values is normal to within what a report shows.
_MOST_SUMS = 2_000

# Sums that agree in so many digits differ by rounding only.
_DIGITS = 12

_ROUNDING = 1e-9


class Cell(NamedTuple):
    """The judged trials of a task by one variant on both sides."""

    passed_a: int
    judged_a: int
    passed_b: int
    judged_b: int

    @property
    def difference(self) -> float:
        """Of the shares that passed, second side less first."""
        return self.passed_b / self.judged_b - self.passed_a / self.judged_a

    @property
    def is_even(self) -> bool:
        """Whether both sides have as many trials."""
        return self.judged_a == self.judged_b


# A cell for each variant.
Task = tuple[Cell, ...]

# Values with their probabilities.
_Law = tuple[tuple[float, float], ...]


def compute_p_value(tasks: Iterable[Task]) -> float:
    """Return the two-sided p-value of the mean difference over tasks.

    Where each task has as many trials on both sides, its sides are swapped as a whole: the sign of its
    difference is a fair coin. Trials of one task may be as alike as they want.

    Where it has not, a difference is not as likely as its opposite: against five trials one trial is seldom
    a little worse and often a little better. The task's trials are then also dealt anew to the sides, as many
    to each as it had, which is exact if they are independent (Birch 1964). The larger of the two p-values
    counts: the first alone errs where few tasks differ, the second alone where some tasks differ in one
    direction and some in the other.
    """
    known = list(tasks)
    seen = math.fsum(_mean(task) for task in known)
    swapped = _beyond(Counter(_swap(_mean(task)) for task in known), seen)
    if all(cell.is_even for task in known for cell in task):
        return swapped
    return max(swapped, _beyond(Counter(law for task in known for law in _laws(task)), seen))


def _mean(task: Task) -> float:
    return fmean(cell.difference for cell in task)


def _laws(task: Task) -> Iterable[_Law]:
    """Return the laws of a task's share of the sum, one for each part that is exchanged by itself."""
    if all(cell.is_even for cell in task):
        return [_swap(_mean(task))]
    return [_deal(cell, len(task)) for cell in task]


def _swap(difference: float) -> _Law:
    size = round(abs(difference), _DIGITS)
    return ((-size, 0.5), (size, 0.5)) if size else ((0.0, 1.0),)


def _deal(cell: Cell, variants: int) -> _Law:
    """Return the law of a cell's difference, hypergeometric, as a share of the mean over variants."""
    passed, first, second = cell.passed_a + cell.passed_b, cell.judged_a, cell.judged_b
    ways = math.comb(first + second, passed)
    return tuple(
        (
            round(((passed - heads) / second - heads / first) / variants, _DIGITS),
            math.comb(first, heads) * math.comb(second, passed - heads) / ways,
        )
        for heads in range(max(0, passed - second), min(first, passed) + 1)
    )


def _beyond(laws: Mapping[_Law, int], seen: float) -> float:
    """Return how likely a sum of so many draws from each law is as far from 0 as the one that was seen."""
    least = abs(seen) - _ROUNDING
    moving = {law: count for law, count in sorted(laws.items()) if len(law) > 1}
    shift = math.fsum(law[0][0] * count for law, count in laws.items() if len(law) == 1)
    sums = _all_sums(moving, shift)
    if sums is not None:
        return min(1.0, math.fsum(chance for value, chance in sums.items() if abs(value) >= least))
    variance = math.fsum(count * chance * value**2 for law, count in moving.items() for value, chance in law)
    return math.erfc(least / math.sqrt(2 * variance))


def _all_sums(laws: Mapping[_Law, int], start: float) -> dict[float, float] | None:
    """Return the law of the sum; None if it has too many values."""
    sums = {start: 1.0}
    for law, count in laws.items():
        for _ in range(count):
            longer: dict[float, float] = {}
            for value, chance in sums.items():
                for step, likely in law:
                    place = round(value + step, _DIGITS)
                    longer[place] = longer.get(place, 0.0) + chance * likely
            sums = longer
            if len(sums) > _MOST_SUMS:
                return None
    return sums
