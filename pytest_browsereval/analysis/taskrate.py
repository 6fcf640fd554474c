"""Tasks instead of trials: one counts as passed when so many of its trials have passed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_browsereval.analysis.repeats import TaskRepeats
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.stats.statistics import Interval, Share, pool_groups, wilson


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
