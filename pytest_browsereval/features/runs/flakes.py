"""Tasks over several runs: which come out alike each time, and which do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.features.runs.tasks import KINDS, LETTERS, NONE
from pytest_browsereval.runs.repeats import Stability, TaskRepeats, repeats
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.trial import StoredTrial

# In the order of the report.
WORST = (
    Stability.FLAKY_AGENT,
    Stability.FLAKY_ENVIRONMENT,
    Stability.ERRORED,
    Stability.STABLE_FAIL,
    Stability.STABLE_PASS,
)

# The id of a row and a variant.
TaskKey = tuple[str, str]


@dataclass(frozen=True)
class Flakes:
    """What several runs say of their tasks."""

    tasks: Sequence[tuple[TaskRepeats, str]]
    """Those with more than one trial, the worst first, each with a letter for each run: P passed, F failed,
    M both, E errored, ``.`` no result."""
    once: int
    """Tasks with one trial in all runs together: they are in no class."""
    left_out: int
    """Trials of rows that were edited later, and those that two of the runs have, as after a merge."""

    @property
    def counts(self) -> Counter[Stability]:
        """The number of tasks in each class."""
        return Counter(task.stability for task, _ in self.tasks)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "stability": {str(kind): self.counts[kind] for kind in WORST},
            "tasks_with_one_trial": self.once,
            "trials_left_out": self.left_out,
            "tasks": [{**task.as_json(), "runs": marks} for task, marks in self.tasks],
        }


def find_flakes(runs: Sequence[StoredRun]) -> Flakes:
    """Class the tasks of several runs by all of their trials.

    Trials are of one task if row, variant and the row's content are the same: of a row that was edited
    only the trials of its newest version count.

    Args:
        runs: the oldest first.
    """
    trials = [(place, trial) for place, run in enumerate(runs) for trial in run.summary.plain]
    begun = sorted((one.last for _, one in trials if one.last.row_hash), key=lambda one: one.started_at)
    versions = {(one.query_id, one.variant): one.row_hash for one in begun}
    kept: dict[tuple[object, ...], StoredTrial] = {}
    kinds = Counter[tuple[TaskKey, int]]()
    for place, trial in trials:
        data, key = trial.last, _key(trial)
        # What no two attempts share; an imported one without a time is like no other.
        same = (*key, data.trial, data.attempt, data.started_at or place)
        if data.row_hash in ("", versions.get(key, "")) and same not in kept:
            kept[same] = trial
            kinds[key, place] |= KINDS[trial.verdict]
    found = repeats((trial.last, len(trial.attempts)) for trial in kept.values())
    tasks = () if found is None else found.tasks
    marked = []
    for task in tasks:
        own = (kinds[(task.query_id, task.variant), place] for place in range(len(runs)))
        marked.append((task, "".join(LETTERS[one] if one else NONE for one in own)))
    return Flakes(
        tasks=sorted(marked, key=_order),
        once=len(set(map(_key, kept.values()))) - len(tasks),
        left_out=len(trials) - len(kept),
    )


def _key(trial: StoredTrial) -> TaskKey:
    return trial.last.query_id, trial.last.variant


def _order(one: tuple[TaskRepeats, str]) -> tuple[object, ...]:
    """Return what sorts tasks: how near their trials are to a coin, or which share of attempts errored."""
    task = one[0]
    share = task.errored / (task.judged + task.errored)
    if task.stability is Stability.FLAKY_AGENT:
        share = 2 * min(task.passed, task.failed) / task.judged
    return WORST.index(task.stability), -share, task.query_id, task.variant
