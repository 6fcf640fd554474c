"""Tasks over several runs: which come out alike each time, and which do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
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
    edited: int
    """Tasks whose rows are not what they were in all of the runs."""
    left_out: int
    """Trials of rows that were edited later: they are of other tasks."""
    twice: int
    """Trials that are in two of the runs, as after a merge; they count once."""

    @property
    def counts(self) -> Counter[Stability]:
        """The number of tasks in each class."""
        return Counter(task.stability for task, _ in self.tasks)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "stability": {str(kind): self.counts[kind] for kind in WORST},
            "tasks_with_one_trial": self.once,
            "tasks_edited": self.edited,
            "trials_of_edited_rows": self.left_out,
            "trials_in_two_runs": self.twice,
            "tasks": [{**task.as_json(), "runs": marks} for task, marks in self.tasks],
        }


def find_flakes(runs: Sequence[StoredRun]) -> Flakes:
    """Class the tasks of several runs by all of their trials.

    Trials are of one task if row, variant and the row's content are the same: of a row that was edited
    only the trials of its newest version count.

    Args:
        runs: the oldest first.
    """
    versions = _find_versions(runs)
    left_out, twice = Counter[TaskKey](), 0
    kept: list[StoredTrial] = []
    cells: list[dict[TaskKey, int]] = []
    seen: set[tuple[object, ...]] = set()
    for run in runs:
        own: dict[TaskKey, int] = {}
        cells.append(own)
        before = frozenset(seen)
        for trial in run.summary.plain:
            data, key = trial.last, _key(trial)
            # What no two attempts share: a merged run and its parts hold the same ones.
            same = (*key, data.trial, data.attempt, data.started_at, data.completed_at)
            # An edited row is another task: a change of its result is not flakiness.
            if data.row_hash not in ("", versions.get(key, "")):
                left_out[key] += 1
            elif same in before:
                twice += 1
            else:
                kept.append(trial)
                own[key] = own.get(key, 0) | KINDS[trial.verdict]
                if data.started_at:  # an imported one without a time is like no other
                    seen.add(same)
    found = repeats((trial.last, len(trial.attempts)) for trial in kept)
    tasks = () if found is None else found.tasks
    marked = [(one, _mark(cells, (one.query_id, one.variant))) for one in tasks]
    return Flakes(
        tasks=sorted(marked, key=_order),
        once=len(set(map(_key, kept))) - len(tasks),
        edited=len({query_id for query_id, _ in left_out}),
        left_out=left_out.total(),
        twice=twice,
    )


def _key(trial: StoredTrial) -> TaskKey:
    return trial.last.query_id, trial.last.variant


def _find_versions(runs: Iterable[StoredRun]) -> dict[TaskKey, str]:
    """Return the hash of the newest version of each row, by when its trials were begun."""
    trials = [trial for run in runs for trial in run.summary.plain if trial.last.row_hash]
    return {_key(one): one.last.row_hash for one in sorted(trials, key=lambda one: one.last.started_at)}


def _mark(cells: Iterable[dict[TaskKey, int]], key: TaskKey) -> str:
    return "".join(LETTERS[own[key]] if key in own else NONE for own in cells)


def _order(one: tuple[TaskRepeats, str]) -> tuple[object, ...]:
    """Return what sorts tasks: how near their trials are to a coin, or which share of attempts errored."""
    task = one[0]
    share = task.errored / (task.judged + task.errored)
    if task.stability is Stability.FLAKY_AGENT:
        share = 2 * min(task.passed, task.failed) / task.judged
    return WORST.index(task.stability), -share, task.query_id, task.variant
