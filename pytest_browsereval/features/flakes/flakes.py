"""Tasks over several runs: which come out alike each time, which do not, and by what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.outcomes import RunOutcomes, check_run, fingerprints_of, outcomes_of
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run.lookup import age
from pytest_browsereval.run.provenance import differences_by_key
from pytest_browsereval.runs.repeats import Repeats, Stability, TaskRepeats, repeats
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

# A manifest has no single key for the agent: these say what it was.
AGENT = ("config.variants", "config.limits", "config.tools", "config.toolkits", "tool_schema_hash")

# These may differ between runs: rows are compared one by one, and trials are counted.
NO_MATTER = ("datasets", "config.dataset", "config.trials", "config.retries")

# The id of a row and a variant.
TaskKey = tuple[str, str]


@dataclass(frozen=True)
class RunTrials:
    """All trials of a run that have a result."""

    outcomes: RunOutcomes
    trials: tuple[StoredTrial, ...]

    @property
    def name(self) -> str:
        """The run's id."""
        return self.outcomes.name

    def count(self, verdict: Verdict) -> int:
        """Return how many of them have that verdict."""
        return sum(trial.last.verdict is verdict for trial in self.trials)


@dataclass(frozen=True)
class TaskHistory:
    """A task by one variant, over all of the runs."""

    task: TaskRepeats
    marks: str
    """A letter for each run, the oldest first: P passed, F failed, M both, E errored, ``.`` no result."""

    @property
    def unsteadiness(self) -> float:
        """From 0 to 1: how near its trials are to a coin, or which share of its attempts errored."""
        one = self.task
        if one.stability is Stability.FLAKY_AGENT:
            return 2 * min(one.passed, one.failed) / one.judged
        return one.errored / (one.judged + one.errored)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        one = self.task
        return {
            "query_id": one.query_id,
            "variant": one.variant,
            "stability": str(one.stability),
            "passed": one.passed,
            "failed": one.failed,
            "errored": one.errored,
            "runs": self.marks,
        }


@dataclass(frozen=True)
class Flakes:
    """What several runs say of their tasks."""

    runs: tuple[RunTrials, ...]
    """The oldest first."""
    tasks: tuple[TaskHistory, ...]
    """Those with more than one trial, the worst first."""
    once: int
    """Tasks with one trial in all runs together: they are in no class."""
    edited: int
    """Tasks whose rows are not what they were in all of the runs."""
    left_out: int
    """Trials of rows that were edited later: they are of other tasks."""
    twice: int
    """Trials that are in two of the runs, as after a merge; they count once."""
    agents: tuple[str, ...]
    """Where the agent changed: what it causes is not flakiness."""
    judges: tuple[str, ...]
    """Where a grader changed: what it causes is not flakiness."""
    others: tuple[str, ...]
    """What else differs between the runs: keys of their manifests."""

    @property
    def counts(self) -> Counter[Stability]:
        """The number of tasks in each class."""
        return Counter(one.task.stability for one in self.tasks)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "runs": [
                {
                    "run": run.name,
                    "folder": str(run.outcomes.folder),
                    **{str(verdict): run.count(verdict) for verdict in Verdict},
                }
                for run in self.runs
            ],
            "stability": {str(kind): self.counts[kind] for kind in WORST},
            "tasks_with_one_trial": self.once,
            "tasks_edited": self.edited,
            "trials_of_edited_rows": self.left_out,
            "trials_in_two_runs": self.twice,
            "agent_differs": list(self.agents),
            "graders_differ": list(self.judges),
            "differs_as_well": list(self.others),
            "tasks": [one.as_json() for one in self.tasks],
        }


def read_trials(folder: Path) -> RunTrials:
    """Return the trials of a run.

    Raises:
        UsageError: it is not a run folder, or a file in it is damaged.
    """
    check_run(folder)
    run = StoredRun(folder)
    return RunTrials(outcomes_of(run, folder), run.summary.plain)


def flakes(runs: Iterable[RunTrials]) -> Flakes:
    """Class the tasks of several runs by all of their trials.

    Trials are of one task if row, variant and the row's content are the same: of a row that was edited
    only the trials of its newest version count.

    Args:
        runs: in any order.

    Raises:
        UsageError: no task has more than one trial.
    """
    ordered = tuple(sorted(runs, key=lambda run: age(run.outcomes.folder.resolve())))
    chosen = _choose_trials(ordered)
    found = repeats((trial.last, len(trial.attempts)) for own in chosen.kept for trial in own)
    if found is None:
        raise UsageError(
            "no task of these runs has more than one trial, so whether it is flaky is unknown. "
            "Name more runs, or add earlier ones by --last 5."
        )
    tasks = {_key(trial) for own in chosen.kept for trial in own}
    return Flakes(
        runs=ordered,
        tasks=_histories(found, chosen.kept),
        once=len(tasks) - len(found.tasks),
        edited=len({query_id for query_id, _ in chosen.left_out}),
        left_out=chosen.left_out.total(),
        twice=chosen.twice,
        agents=tuple(_list_changes(ordered, is_agent=True)),
        judges=tuple(_judges(ordered)),
        others=tuple(dict.fromkeys(_list_changes(ordered, is_agent=False))),
    )


@dataclass
class _Chosen:
    """The trials that count."""

    kept: list[list[StoredTrial]] = field(default_factory=list)
    """Of each run."""
    left_out: Counter[TaskKey] = field(default_factory=Counter)
    """How many of each task are of an older version of its row."""
    twice: int = 0


def _choose_trials(runs: Sequence[RunTrials]) -> _Chosen:
    versions, found = _versions(runs), _Chosen()
    seen: set[tuple[object, ...]] = set()
    for run in runs:
        own = []
        for trial in run.trials:
            # An edited row is another task: a change of its result is not flakiness.
            if trial.last.row_hash not in ("", versions.get(_key(trial), "")):
                found.left_out[_key(trial)] += 1
            # A merged run and its parts hold the same attempts.
            elif _identity(trial) in seen:
                found.twice += 1
            else:
                own.append(trial)
        seen.update(_identity(trial) for trial in own if trial.last.started_at)
        found.kept.append(own)
    return found


def _key(trial: StoredTrial) -> TaskKey:
    return trial.last.query_id, trial.last.variant


def _identity(trial: StoredTrial) -> tuple[object, ...]:
    """Return what no two attempts share; an imported one that has no time is like no other."""
    data = trial.last
    return (*_key(trial), data.trial, data.attempt, data.started_at, data.completed_at)


def _versions(runs: Sequence[RunTrials]) -> dict[TaskKey, str]:
    """Return the hash of the newest version of each row, by when its trials were begun."""
    newest: dict[TaskKey, tuple[str, str]] = {}
    for run in runs:
        for trial in run.trials:
            if trial.last.row_hash:
                version = (trial.last.started_at, trial.last.row_hash)
                newest[_key(trial)] = max(newest.get(_key(trial), version), version)
    return {key: row_hash for key, (_, row_hash) in newest.items()}


def _histories(found: Repeats, kept: Sequence[Sequence[StoredTrial]]) -> tuple[TaskHistory, ...]:
    verdicts: list[dict[TaskKey, set[Verdict]]] = [{} for _ in kept]
    for place, own in enumerate(kept):
        for trial in own:
            verdicts[place].setdefault(_key(trial), set()).add(trial.last.verdict)
    histories = (
        TaskHistory(task, "".join(_mark(of.get((task.query_id, task.variant))) for of in verdicts))
        for task in found.tasks
    )
    worst = sorted(histories, key=lambda one: (one.task.query_id, one.task.variant))
    return tuple(sorted(worst, key=lambda one: (WORST.index(one.task.stability), -one.unsteadiness)))


def _mark(verdicts: set[Verdict] | None) -> str:
    if not verdicts:
        return "."
    # A trial that errored says nothing of the agent.
    judged = verdicts - {Verdict.ERRORED}
    if len(judged) > 1:
        return "M"
    return {Verdict.PASSED: "P", Verdict.FAILED: "F"}[judged.pop()] if judged else "E"


# -- what the runs were made of


def _list_changes(runs: Sequence[RunTrials], *, is_agent: bool) -> Iterator[str]:
    """Yield where one run's agent is not that of the run before; or the other keys that differ."""
    for before, after in pairwise(runs):
        a, b = before.outcomes.manifest, after.outcomes.manifest
        if not a or not b:
            if is_agent:
                yield f"{before.name} -> {after.name}: unknown, as the manifest of one is missing or damaged"
            continue
        for key, message in differences_by_key(a, b, besides=NO_MATTER).items():
            if is_agent is (key == "config" or key.startswith(AGENT)):
                yield f"{before.name} -> {after.name}: {message}" if is_agent else key


def _judges(runs: Sequence[RunTrials]) -> Iterator[str]:
    """Yield the graders that decide in two runs, one after the other, and are not the same."""
    prints = [(run.name, fingerprints_of(run.outcomes)) for run in runs]
    for (first, before), (second, after) in pairwise(prints):
        for name in sorted(before.keys() & after.keys()):
            if before[name] != after[name]:
                old, new = (" and ".join(sorted(one[name])) for one in (before, after))
                yield f"{first} -> {second}: grader {name}: {old} -> {new}"
