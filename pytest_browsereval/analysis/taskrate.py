"""Tasks instead of trials: one counts as passed when so many of its trials have passed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_browsereval.analysis.statistics import Share
from pytest_browsereval.model.digest import AttemptDigest
from pytest_browsereval.model.grades import Verdict


@dataclass
class TaskTrials:
    """The trials of a task by one variant, each by its last attempt."""

    query_id: str
    variant: str
    passed: int = 0
    failed: int = 0
    errored: int = 0

    def verdict(self, needed: int | None) -> Verdict:
        """Return what the task comes to; *errored* where an errored trial, had it passed, would tell.

        Args:
            needed: how many of its trials have to pass; None is all of them.
        """
        trials = self.passed + self.failed + self.errored
        needed = trials if needed is None else needed
        if self.passed >= needed:
            return Verdict.PASSED
        return Verdict.ERRORED if self.passed + self.errored >= needed or trials < needed else Verdict.FAILED


def tasks_of(trials: Iterable[AttemptDigest]) -> list[TaskTrials]:
    """Return the tasks of trials, each with each of its variants."""
    found: dict[tuple[str, str], TaskTrials] = {}
    for trial in trials:
        key = (trial.query_id, trial.variant)
        task = found.setdefault(key, TaskTrials(*key))
        task.passed += trial.verdict is Verdict.PASSED
        task.failed += trial.verdict is Verdict.FAILED
        task.errored += trial.verdict is Verdict.ERRORED
    return list(found.values())


def task_rate(tasks: Iterable[TaskTrials], needed: int | None) -> tuple[Share, int]:
    """Return the passed tasks among the decided ones, and how many are undecided.

    Args:
        tasks: with their trials.
        needed: how many of its trials have to pass; None is all of them.
    """
    verdicts = [task.verdict(needed) for task in tasks]
    passed, failed = verdicts.count(Verdict.PASSED), verdicts.count(Verdict.FAILED)
    return Share(passed, passed + failed), verdicts.count(Verdict.ERRORED)
