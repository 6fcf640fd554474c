"""Tasks over several runs: which come out alike each time, which do not, and by what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.outcomes import RunOutcomes, check_run, fingerprints_of, outcomes_of
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run.lookup import age
from pytest_browsereval.run.provenance import differences_by_key
from pytest_browsereval.runs.attempt import StoredAttempt
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

# A manifest has no single key for the agent: these say what it was.
AGENT = ("config.variants", "config.limits", "config.tools", "config.toolkits", "tool_schema_hash")

# These may differ between runs: rows are compared one by one, and trials are counted.
NO_MATTER = ("datasets", "config.dataset", "config.trials", "config.retries")

# The id of a row and a variant.
TaskKey = tuple[str, str]


@dataclass(frozen=True)
class Flakes:
    """What several runs say of their tasks."""

    runs: Sequence[RunOutcomes]
    """The oldest first."""
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
    agents: Sequence[str]
    """Where the agent changed: what it causes is not flakiness."""
    judges: Sequence[str]
    """Where a grader changed: what it causes is not flakiness."""
    others: Sequence[str]
    """What else differs between the runs: keys of their manifests."""

    @property
    def counts(self) -> Counter[Stability]:
        """The number of tasks in each class."""
        return Counter(task.stability for task, _ in self.tasks)

    def as_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        counts = ("passed", "failed", "errored")
        return {
            "runs": [
                {"run": run.name, "folder": str(run.folder), **count_verdicts(run)} for run in self.runs
            ],
            "stability": {str(kind): self.counts[kind] for kind in WORST},
            "tasks_with_one_trial": self.once,
            "tasks_edited": self.edited,
            "trials_of_edited_rows": self.left_out,
            "trials_in_two_runs": self.twice,
            "agent_differs": self.agents,
            "graders_differ": self.judges,
            "differs_as_well": self.others,
            "tasks": [
                {
                    "query_id": task.query_id,
                    "variant": task.variant,
                    "stability": str(task.stability),
                    **{key: getattr(task, key) for key in counts},
                    "runs": marks,
                }
                for task, marks in self.tasks
            ],
        }


def read_trials(folder: Path) -> RunOutcomes:
    """Return the trials of a run.

    Raises:
        UsageError: it is not a run folder, or a file in it is damaged.
    """
    check_run(folder)
    return outcomes_of(StoredRun(folder), folder)


def count_verdicts(run: RunOutcomes) -> dict[str, int]:
    """Return how many trials of a run have each verdict."""
    return {str(verdict): sum(one.verdict is verdict for one in run.trials) for verdict in Verdict}


def find_flakes(runs: Iterable[RunOutcomes]) -> Flakes:
    """Class the tasks of several runs by all of their trials.

    Trials are of one task if row, variant and the row's content are the same: of a row that was edited
    only the trials of its newest version count.

    Args:
        runs: in any order.

    Raises:
        UsageError: no task has more than one trial.
    """
    ordered = sorted(runs, key=lambda run: age(run.folder.resolve()))
    versions, left_out, twice = _find_versions(ordered), Counter[TaskKey](), 0
    kept: list[list[StoredTrial]] = []
    seen: set[tuple[object, ...]] = set()
    for run in ordered:
        kept.append(own := [])
        before = frozenset(seen)
        for trial in run.trials:
            # An edited row is another task: a change of its result is not flakiness.
            if trial.last.row_hash not in ("", versions.get(_key(trial), "")):
                left_out[_key(trial)] += 1
            # A merged run and its parts hold the same attempts.
            elif (same := _identify(trial.last)) in before:
                twice += 1
            else:
                own.append(trial)
                if trial.last.started_at:  # an imported one without a time is like no other
                    seen.add(same)
    found = repeats((trial.last, len(trial.attempts)) for own in kept for trial in own)
    if found is None:
        raise UsageError(
            "no task of these runs has more than one trial, so whether it is flaky is unknown. "
            "Name more runs, or add earlier ones by --last 5."
        )
    verdicts = [_gather_verdicts(own) for own in kept]
    marked = [
        (one, "".join(_mark(of.get((one.query_id, one.variant))) for of in verdicts)) for one in found.tasks
    ]
    return Flakes(
        runs=ordered,
        tasks=sorted(marked, key=_order),
        once=len({_key(trial) for own in kept for trial in own}) - len(found.tasks),
        edited=len({query_id for query_id, _ in left_out}),
        left_out=left_out.total(),
        twice=twice,
        agents=list(_list_changes(ordered, is_agent=True)),
        judges=list(_list_judges(ordered)),
        others=list(dict.fromkeys(_list_changes(ordered, is_agent=False))),
    )


def _key(trial: StoredTrial) -> TaskKey:
    return trial.last.query_id, trial.last.variant


def _identify(data: StoredAttempt) -> tuple[object, ...]:
    """Return what no two attempts share."""
    return data.query_id, data.variant, data.trial, data.attempt, data.started_at, data.completed_at


def _find_versions(runs: Sequence[RunOutcomes]) -> dict[TaskKey, str]:
    """Return the hash of the newest version of each row, by when its trials were begun."""
    trials = [trial for run in runs for trial in run.trials if trial.last.row_hash]
    return {_key(one): one.last.row_hash for one in sorted(trials, key=lambda one: one.last.started_at)}


def _order(one: tuple[TaskRepeats, str]) -> tuple[object, ...]:
    """Return what sorts tasks: how near their trials are to a coin, or which share of attempts errored."""
    task = one[0]
    share = task.errored / (task.judged + task.errored)
    if task.stability is Stability.FLAKY_AGENT:
        share = 2 * min(task.passed, task.failed) / task.judged
    return WORST.index(task.stability), -share, task.query_id, task.variant


def _gather_verdicts(trials: Iterable[StoredTrial]) -> dict[TaskKey, set[Verdict]]:
    found: dict[TaskKey, set[Verdict]] = {}
    for trial in trials:
        found.setdefault(_key(trial), set()).add(trial.verdict)
    return found


def _mark(verdicts: set[Verdict] | None) -> str:
    if not verdicts:
        return "."
    judged = verdicts - {Verdict.ERRORED}  # a trial that errored says nothing of the agent
    if len(judged) > 1:
        return "M"
    return {Verdict.PASSED: "P", Verdict.FAILED: "F"}[judged.pop()] if judged else "E"


# -- what the runs were made of


def _list_changes(runs: Sequence[RunOutcomes], *, is_agent: bool) -> Iterator[str]:
    """Yield where one run's agent is not that of the run before; or the other keys that differ."""
    for before, after in pairwise(runs):
        if not (before.manifest and after.manifest):
            if is_agent:
                yield f"{before.name} -> {after.name}: unknown, as the manifest of one is missing or damaged"
            continue
        for key, message in differences_by_key(before.manifest, after.manifest, besides=NO_MATTER).items():
            if is_agent is (key == "config" or key.startswith(AGENT)):
                yield f"{before.name} -> {after.name}: {message}" if is_agent else key


def _list_judges(runs: Sequence[RunOutcomes]) -> Iterator[str]:
    """Yield the graders that decide in two runs, one after the other, and are not the same."""
    for (first, before), (second, after) in pairwise((run.name, fingerprints_of(run)) for run in runs):
        for name in sorted(before.keys() & after.keys()):
            if before[name] != after[name]:
                old, new = (" and ".join(sorted(one[name])) for one in (before, after))
                yield f"{first} -> {second}: grader {name}: {old} -> {new}"
