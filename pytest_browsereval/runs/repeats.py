"""Repeated trials: how often a task is solved at least once or every time, and which tasks are unsteady."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from math import comb
from typing import Any

from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.stats.statistics import Interval, Share, pool_groups, wilson


class Stability(StrEnum):
    """What the trials of a task say of each other."""

    STABLE_PASS = "stable pass"  # noqa: S105 no password
    STABLE_FAIL = "stable fail"
    FLAKY_AGENT = "flaky by agent"
    """Some trials passed and some failed: the task and the row are the same, so it is the agent."""
    FLAKY_ENVIRONMENT = "flaky by environment"
    """All judged trials agree, and some attempts errored."""
    ERRORED = "errored"
    """No trial was judged."""


@dataclass
class TaskRepeats:
    """The trials of a task by one variant."""

    query_id: str
    variant: str
    trials: int = 0
    passed: int = 0
    failed: int = 0
    errored: int = 0
    """Attempts, those that were followed by another one included."""

    @property
    def judged(self) -> int:
        """Trials that passed or failed."""
        return self.passed + self.failed

    def verdict(self, needed: int | None) -> Verdict:
        """Return what the task comes to; *errored* where an errored trial, had it passed, would decide.

        Args:
            needed: how many of its trials have to pass; None is all of them.
        """
        needed = self.trials if needed is None else needed
        if self.passed >= needed:
            return Verdict.PASSED
        could_pass = self.trials - self.failed
        return Verdict.ERRORED if could_pass >= needed or self.trials < needed else Verdict.FAILED

    @property
    def stability(self) -> Stability:
        """What the trials say of each other."""
        if not self.judged:
            return Stability.ERRORED
        if self.passed and self.failed:
            return Stability.FLAKY_AGENT
        if self.errored:
            return Stability.FLAKY_ENVIRONMENT
        return Stability.STABLE_PASS if self.passed else Stability.STABLE_FAIL

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        keys = ("query_id", "variant", "stability", "passed", "failed", "errored")
        return {key: getattr(self, key) for key in keys}

    def pass_at(self, k: int) -> Fraction:
        """Return pass@k: how likely one of k trials, drawn from those judged, passed (Chen et al. 2021).

        Raises:
            ValueError: fewer were judged.
        """
        return 1 - self._none_of(self.passed, k)

    def pass_hat(self, k: int) -> Fraction:
        """Return pass^k: how likely all of k trials, drawn from those judged, passed (Yao et al. 2024).

        Raises:
            ValueError: fewer were judged.
        """
        return self._none_of(self.failed, k)

    def _none_of(self, kind: int, k: int) -> Fraction:
        if not 0 < k <= self.judged:
            raise ValueError(f"{k} of {self.judged} judged trials cannot be drawn")
        return Fraction(comb(self.judged - kind, k), comb(self.judged, k))


@dataclass(frozen=True)
class Repeats:
    """All tasks of a run that were tried more than once."""

    tasks: tuple[TaskRepeats, ...]
    k: int
    """How many trials are drawn: as many as most tasks have judged, at least 2."""
    counts: Counter[Stability] = field(default_factory=Counter)

    @property
    def counted(self) -> tuple[TaskRepeats, ...]:
        """The tasks with at least ``k`` judged trials; the others are left out of both rates."""
        return tuple(task for task in self.tasks if task.judged >= self.k)

    @property
    def pass_at_k(self) -> float | None:
        """The mean of pass@k over the counted tasks; None if there is none."""
        found = [task.pass_at(self.k) for task in self.counted]
        return float(sum(found) / len(found)) if found else None

    @property
    def pass_hat_k(self) -> float | None:
        """The mean of pass^k over the counted tasks; None if there is none."""
        found = [task.pass_hat(self.k) for task in self.counted]
        return float(sum(found) / len(found)) if found else None

    @property
    def unsteady(self) -> tuple[TaskRepeats, ...]:
        """The flaky tasks."""
        flaky = (Stability.FLAKY_AGENT, Stability.FLAKY_ENVIRONMENT)
        return tuple(task for task in self.tasks if task.stability in flaky)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "k": self.k,
            "pass_at_k": self.pass_at_k,
            "pass_hat_k": self.pass_hat_k,
            "tasks": len(self.tasks),
            "tasks_counted": len(self.counted),
            "stability": {str(kind): self.counts[kind] for kind in Stability if self.counts[kind]},
            "unsteady": [task.as_json() for task in self.unsteady],
        }


def count_tasks(trials: Iterable[tuple[StoredAttempt, int]]) -> list[TaskRepeats]:
    """Return the tasks of trials, each with each of its variants.

    Args:
        trials: each by its last attempt, with the number of its finished attempts: the earlier ones errored.
    """
    tasks: dict[tuple[str, str], TaskRepeats] = {}
    for trial, attempts in trials:
        key = (trial.query_id, trial.variant)
        task = tasks.setdefault(key, TaskRepeats(*key))
        task.trials += 1
        task.passed += trial.verdict is Verdict.PASSED
        task.failed += trial.verdict is Verdict.FAILED
        task.errored += attempts - (trial.verdict is not Verdict.ERRORED)
    return list(tasks.values())


def repeats(trials: Iterable[tuple[StoredAttempt, int]]) -> Repeats | None:
    """Return what repeated trials say; None where no task has more than one.

    Args:
        trials: as ``count_tasks`` takes them.
    """
    repeated = tuple(task for task in count_tasks(trials) if task.trials > 1)
    if not repeated:
        return None
    judged = Counter(task.judged for task in repeated)
    # With the largest k only few tasks would have enough trials; the commonest number keeps most.
    k = max(judged, key=lambda count: (judged[count], count))
    return Repeats(repeated, max(k, 2), Counter(task.stability for task in repeated))


# -- tasks instead of trials


@dataclass(frozen=True)
class TaskRate:
    """The passed tasks among the decided ones, a task by each of its variants."""

    share: Share
    undecided: int
    """In neither number."""
    by_id: tuple[Share, ...]
    """The same of each task with all of its variants, which are alike."""

    def interval(self, confidence: float) -> Interval | None:
        """Return where the rate lies; None where all are of one task: how tasks differ is unknown then."""
        # One variant: each task is a case of its own.
        if len(self.by_id) == self.share.of:
            return wilson(self.share.hits, self.share.of, confidence)
        found = pool_groups(self.by_id, confidence)
        return found.interval if found else None


def task_rate(tasks: Iterable[TaskRepeats], needed: int | None) -> TaskRate:
    """Return how many tasks passed.

    Args:
        tasks: with their trials.
        needed: how many of its trials have to pass; None is all of them.
    """
    by_id: dict[str, list[Verdict]] = {}
    undecided = 0
    for task in tasks:
        verdict = task.verdict(needed)
        if verdict is Verdict.ERRORED:
            undecided += 1
        else:
            by_id.setdefault(task.query_id, []).append(verdict)
    shares = tuple(Share(found.count(Verdict.PASSED), len(found)) for found in by_id.values())
    return TaskRate(Share(sum(s.hits for s in shares), sum(s.of for s in shares)), undecided, shares)
