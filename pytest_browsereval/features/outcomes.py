"""A run as comparisons read it: of each trial only what they need, so that large runs fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.analysis.evidence import check_contradictions
from pytest_browsereval.errors import UsageError
from pytest_browsereval.run.manifest import check_manifest
from pytest_browsereval.runs.passrate import PassRate, pass_rate
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.trial import StoredTrial


@dataclass(frozen=True)
class RunOutcomes:
    """All trials of a run that have a result."""

    name: str
    folder: Path
    trials: tuple[StoredTrial, ...]
    selected: int | None
    """How many there were to be; None if unknown."""
    manifest: dict[str, Any]
    attacked: int = 0
    """Trials under attack, which are none of these."""

    @property
    def rate(self) -> PassRate:
        """The pass rate of the run."""
        return pass_rate((trial.last for trial in self.trials), self.selected)

    @property
    def variants(self) -> tuple[str, ...]:
        """Their names, sorted."""
        return tuple(sorted({trial.last.variant for trial in self.trials}))


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
    selected, attacked = run.count_selected(), len(summary.trials) - len(summary.plain)
    plain = None if selected is None else selected - attacked
    return RunOutcomes(
        run.folder.resolve().name, folder or run.folder, summary.plain, plain, run.read_manifest(), attacked
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
    for grades in {id(one): one for one in (trial.last.grader_results for trial in run.trials)}.values():
        for name, grade in grades.items():
            if not grade.advisory:
                found.setdefault(name, set()).add(grade.fingerprint or "without a fingerprint")
    return found
