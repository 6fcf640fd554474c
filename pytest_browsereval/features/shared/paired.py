"""Two pass rates over the same tasks: the difference, how sure it is, and what that means in words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from pytest_browsereval.stats.statistics import CONFIDENCE, POWER, Interval, quantile

# A pass rate that is lower by less than this is not worse.
MARGIN = 0.05

# Differences that agree in so many digits differ by rounding only.
_DIGITS = 12


class Judgement(StrEnum):
    """What a difference comes to."""

    BETTER = "better"
    WORSE = "worse"
    NOT_WORSE = "not worse"
    """By no more than the margin."""
    INCONCLUSIVE = "inconclusive"


class Method(StrEnum):
    """How a p-value was come by."""

    MCNEMAR = "McNemar's exact test"
    """Each task has one judged trial on each side."""
    EXCHANGE = "paired permutation test"
    """Some task has another number of them: see ``permutation``."""


@dataclass(frozen=True)
class Split:
    """How many tasks went which way, and how likely such a difference is if both sides are alike."""

    gained: int
    lost: int
    p_value: float
    test: Method


@dataclass(frozen=True)
class Paired:
    """The difference of two pass rates, second less first, each task being its own control."""

    tasks: int
    """With a judged trial on both sides."""
    gained: int
    """Tasks that fared better on the second side."""
    lost: int
    changed: int
    """Tasks whose rate is not the same on both sides."""
    value: float | None
    """The mean over tasks, from -1 to 1; None without a task."""
    interval: Interval | None
    p_value: float
    """How likely as large a difference is, if both sides are alike."""
    variance: float
    """Of the tasks' differences."""
    confidence: float = CONFIDENCE
    test: Method = Method.MCNEMAR

    def judge(self, margin: float = MARGIN) -> Judgement:
        """Return what it comes to.

        Better and worse need the interval and the exact test; an interval alone is not exact.
        """
        if self.interval is None:
            return Judgement.INCONCLUSIVE
        is_sure = self.p_value <= 1 - self.confidence
        if is_sure and self.interval.low > 0:
            return Judgement.BETTER
        if is_sure and self.interval.high < 0:
            return Judgement.WORSE
        return Judgement.NOT_WORSE if self.interval.low >= -margin else Judgement.INCONCLUSIVE

    def more_tasks(self, margin: float = MARGIN) -> int | None:
        """Return about how many more tasks would decide, if they are like these; None if no number would.

        Told is then, with a power of 80 %, either that there is a difference or that it is within the
        margin, whichever needs fewer tasks.
        """
        if self.value is None:
            return None
        ratio = quantile(self.confidence) + quantile(2 * POWER - 1)
        needed = []
        if self.value:
            needed_changes = math.ceil(math.log2(2 / (1 - self.confidence)))  # fewer are never beyond chance
            least = needed_changes * self.tasks / self.changed
            needed.append(max(least, _tasks_for(abs(self.value) / ratio, self.variance)))
        if self.value + margin > 0:
            needed.append(_tasks_for((self.value + margin) / ratio, self.variance))
        return max(1, math.ceil(min(needed)) - self.tasks) if needed else None

    def more_tasks_beside(self, level: float) -> int | None:
        """Return about how many more tasks would decide on which side of a level the difference is.

        With a power of 80 %, if they are like these; None if no number of them would.
        """
        distance = abs((self.value or 0.0) - level)
        if self.value is None or distance < 1e-9:
            return None
        ratio = quantile(self.confidence) + quantile(2 * POWER - 1)
        return max(1, math.ceil(_tasks_for(distance / ratio, self.variance)) - self.tasks)


def _tasks_for(error: float, variance: float) -> float:
    """Return how many tasks have that standard error, the two that are added to them counted as below."""
    half = variance / error**2 / 2
    return half + math.sqrt(half * half + 2 / error**2) - 2


def compare_pairs(
    differences: Iterable[float], confidence: float = CONFIDENCE, split: Split | None = None
) -> Paired:
    """Return what the differences of tasks come to.

    The interval is that of Bonett and Price (2012) over tasks, so that trials of one task stay together; they
    add one gained and one lost task, since without them few tasks that all agree would make an interval of
    no width.

    Args:
        differences: of the tasks, second less first, each from -1 to 1.
        confidence: of the interval, and of what ``judge`` says.
        split: what a test says of them; None for McNemar's, which needs one trial of each task on each side.
    """
    counts = Counter(round(difference, _DIGITS) for difference in differences)
    tasks = counts.total()
    gained = sum(count for value, count in counts.items() if value > 0)
    lost = sum(count for value, count in counts.items() if value < 0)
    by = split or Split(gained, lost, mcnemar(gained, lost), Method.MCNEMAR)
    head = (tasks, by.gained, by.lost, gained + lost)
    if not tasks:
        return Paired(*head, None, None, by.p_value, 0.0, confidence, by.test)
    mean = math.fsum(value * count for value, count in counts.items()) / tasks
    variance = math.fsum((value - mean) ** 2 * count for value, count in counts.items()) / tasks
    middle = mean * tasks / (tasks + 2)
    squares = math.fsum(value * value * count for value, count in counts.items()) + 2
    reach = quantile(confidence) * math.sqrt((squares / (tasks + 2) - middle**2) / (tasks + 2))
    interval = Interval(max(-1.0, middle - reach), min(1.0, middle + reach))
    return Paired(*head, mean, interval, by.p_value, variance, confidence, by.test)


def mcnemar(gained: int, lost: int) -> float:
    """Return the two-sided p-value of McNemar's exact test: of a fair coin, as uneven a split or more."""
    tosses, fewer = gained + lost, min(gained, lost)
    log = math.lgamma(tosses + 1) - math.lgamma(fewer + 1) - math.lgamma(tosses - fewer + 1)
    term = total = math.exp(log - tosses * math.log(2))
    for heads in range(fewer, 0, -1):  # outwards; terms soon add nothing
        term *= heads / (tosses - heads + 1)
        total += term
        if term < total * 1e-17:
            break
    return min(1.0, 2 * total)
