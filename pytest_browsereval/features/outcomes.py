"""A run as comparisons read it: of each trial only what they need, so that large runs fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.analysis.evidence import check_contradictions
from pytest_browsereval.errors import ErrorSource, UsageError
from pytest_browsereval.model.display import LONGEST
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run.manifest import check_manifest
from pytest_browsereval.runs.passrate import PassRate, pass_rate
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.trial import StoredTrial


@dataclass(frozen=True, slots=True)
class Outcome:
    """A trial by its last attempt."""

    query_id: str
    variant: str
    trial: int
    verdict: Verdict
    error_source: ErrorSource | None
    reason: str
    """Cut."""
    row_hash: str
    website: str | None
    tags: tuple[str, ...]
    steps: int
    duration_ms: float | None
    cost_usd: float | None
    """Of all its attempts; None when a part of it is not known."""
    judges: tuple[tuple[str, str], ...]
    """Graders that decide, with their fingerprints; the same tuple where they are the same."""


@dataclass(frozen=True)
class RunOutcomes:
    """All trials of a run that have a result."""

    name: str
    folder: Path
    trials: tuple[Outcome, ...]
    selected: int | None
    """How many there were to be; None if unknown."""
    manifest: dict[str, Any]
    attacked: int = 0
    """Trials under attack, which are none of these."""

    @property
    def rate(self) -> PassRate:
        """The pass rate of the run."""
        return pass_rate(self.trials, self.selected)

    @property
    def variants(self) -> tuple[str, ...]:
        """Their names, sorted."""
        return tuple(sorted({trial.variant for trial in self.trials}))


def read_outcomes(folder: Path) -> RunOutcomes:
    """Return what a run folder says of its trials.

    Raises:
        UsageError: it is not a run folder, has no result, a file in it is damaged, or its summary contradicts
            its records.
    """
    check_run(folder)
    run = StoredRun(folder)
    check_contradictions(run)
    found = outcomes_of(run, folder)
    if not found.trials:
        raise UsageError(f"{folder} has no finished attempt, so there is nothing to look at.")
    return found


def check_run(folder: Path) -> None:
    """Check that a folder is one of a run, with a manifest that can be read.

    Raises:
        UsageError: with what it lacks.
    """
    if not (folder / "tasks").is_dir():
        message = "has no folder 'tasks'" if folder.is_dir() else "is not a folder"
        raise UsageError(f"{folder} {message}: give a run folder, results/NAME/TIME-LETTERS.")
    check_manifest(folder)


def outcomes_of(run: StoredRun, folder: Path | None = None) -> RunOutcomes:
    """Return what comparisons need of a run.

    Args:
        run: the run.
        folder: its folder, as it was typed.
    """
    summary = run.summary
    seen: dict[Any, Any] = {}
    trials = tuple(_outcome(trial, seen) for trial in summary.plain)
    selected, attacked = run.count_selected(), len(summary.trials) - len(summary.plain)
    plain = None if selected is None else selected - attacked
    return RunOutcomes(
        run.folder.resolve().name, folder or run.folder, trials, plain, run.read_manifest(), attacked
    )


def _outcome(trial: StoredTrial, seen: dict[Any, Any]) -> Outcome:
    data = trial.last
    grades = data.grader_results
    judges = seen.get(id(grades))  # many attempts have the same object, which their summary keeps
    if judges is None:
        judges = tuple((n, g.fingerprint) for n, g in sorted(grades.items()) if not g.advisory)
        judges = seen[id(grades)] = seen.setdefault(judges, judges)
    return Outcome(
        query_id=data.query_id,
        variant=data.variant,
        trial=data.trial,
        verdict=data.verdict,
        error_source=data.error_source,
        # Reports show no more of it, and a reason may hold a whole page.
        reason=data.reason[:LONGEST],
        row_hash=data.row_hash,
        website=data.website,
        # Equal tuples are kept once: large runs share a few of them.
        tags=seen.setdefault(data.tags, data.tags),
        steps=data.total_steps,
        duration_ms=data.total_duration_ms,
        cost_usd=trial.cost_usd,
        judges=judges,
    )


def judge_differences(a: RunOutcomes, b: RunOutcomes) -> Iterator[str]:
    """Yield the graders that decide and are not the same in two runs, by their fingerprints."""
    before, after = (fingerprints_of(run) for run in (a, b))
    for name in sorted(before.keys() | after.keys()):
        old, new = (" and ".join(sorted(known.get(name, ()))) for known in (before, after))
        if old != new:
            yield f"grader {name}: {old or 'not asked'} -> {new or 'not asked'}"


def fingerprints_of(run: RunOutcomes) -> dict[str, set[str]]:
    """Return the fingerprints of the graders that decide in a run."""
    found: dict[str, set[str]] = {}
    for judges in {trial.judges for trial in run.trials}:
        for name, fingerprint in judges:
            found.setdefault(name, set()).add(fingerprint or "without a fingerprint")
    return found
