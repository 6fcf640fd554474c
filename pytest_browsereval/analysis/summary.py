"""Summary of a run, computed from its folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_browsereval.analysis.passrate import PassRate, pass_rate
from pytest_browsereval.analysis.repeats import Repeats, repeats
from pytest_browsereval.model.digest import AttemptDigest, GradeDigest, digest
from pytest_browsereval.model.grades import Verdict, differ
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.deaths import count_deaths
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.lines import read_line

MOST_FINGERPRINTS = 10
"""Rules of one grader that a summary names; of a grader whose rules stand in each row there are as many."""


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """A trial by its last attempt: an earlier one has errored, unless a plug-in has run the row again."""

    metadata: AttemptDigest
    """Its figures; ``read`` reads what else there is."""
    root: Path
    """The run's folder."""
    place: str
    """The folder of its attempt below that, with slashes."""
    attempts: int
    cost_usd: float | None
    """Of all its attempts; None when a part of it is not known."""
    judged: int = 1
    """How many of its attempts passed or failed, on the row as it is: with more than one, the last counts."""

    @property
    def folder(self) -> Path:
        """The folder of its attempt."""
        return self.root / self.place

    def read(self) -> TaskMetadata:
        """Return the whole record of its attempt.

        Raises:
            UsageError: the line was changed since.
        """
        assert self.metadata.line is not None  # noqa: S101 it was read from the run
        return read_line(self.root, self.metadata.line)


@dataclass(frozen=True)
class RunSummary:
    """All trials of a run that have a result.

    What a pass rate is says ``analysis.passrate``: errored trials are not in it, always counted beside it.
    """

    trials: tuple[TrialOutcome, ...]
    deaths: int = 0
    """Processes that have died while no trial can be blamed for it."""

    @cached_property
    def plain(self) -> tuple[TrialOutcome, ...]:
        """The trials of rows that are not derived: rates, counts of verdicts and repeats are of these."""
        return tuple(trial for trial in self.trials if trial.metadata.derived is None)

    @cached_property
    def rate(self) -> PassRate:
        """The pass rate with its denominator, its intervals and what is left out."""
        return pass_rate(trial.metadata for trial in self.plain)

    @cached_property
    def repeats(self) -> Repeats | None:
        """What repeated trials say of each other; None where no task has more than one."""
        return repeats((trial.metadata, trial.attempts) for trial in self.plain)

    def count(self, verdict: Verdict) -> int:
        """Return how many trials have that verdict."""
        return sum(trial.metadata.verdict is verdict for trial in self.plain)

    @property
    def judged(self) -> int:
        """The pass rate's denominator: trials that passed or failed."""
        return self.rate.judged

    @property
    def pass_rate(self) -> float | None:
        """From 0 to 1; None when no trial was judged."""
        return self.rate.value

    @property
    def error_rate(self) -> float | None:
        """Errored trials over all trials; None when there is none."""
        return self.rate.errors.value

    @property
    def cost_usd(self) -> float | None:
        """What all attempts' models cost together; None when a part of it is not known."""
        return total_cost(trial.cost_usd for trial in self.trials)

    @property
    def best_of(self) -> int:
        """The most judged attempts of a trial: 1 unless failed rows were run again."""
        return max((trial.judged for trial in self.plain), default=1)

    def errors_by_source(self) -> dict[str, int]:
        """Return how many trials each source of errors cost."""
        return dict(
            Counter(str(t.metadata.error_source) for t in self.plain if t.metadata.error_source is not None)
        )

    @property
    def disagreements(self) -> tuple[TrialOutcome, ...]:
        """Trials that one grader passed and another one failed, advisory ones included."""
        return tuple(trial for trial in self.plain if differ(trial.metadata.grader_results.values()))

    def as_json(self) -> dict[str, Any]:
        """Return the content of ``summary.json``."""
        return {**self.figures(), "results": list(self.list_results())}

    def list_results(self) -> Iterator[dict[str, Any]]:
        """Yield the trials as ``summary.json`` has them: those of 200,000 take 500 MiB at once."""
        return map(_row, self.trials)

    def figures(self) -> dict[str, Any]:
        """Return the content of ``summary.json`` without the trials."""
        return {
            "trials": len(self.trials),
            "passed": self.count(Verdict.PASSED),
            "failed": self.count(Verdict.FAILED),
            "errored": self.count(Verdict.ERRORED),
            "judged": self.judged,
            "pass_rate": self.pass_rate,
            "pass_rate_intervals": {
                # The other keys are in the summary under names of their own.
                key: self.rate.as_json()[key]
                for key in ("interval", "by_site", "by_task")
            },
            "error_rate": self.error_rate,
            "errors_by_source": self.errors_by_source(),
            **({"deaths": self.deaths} if self.deaths else {}),
            "cost_usd": self.cost_usd,
            **({"best_of": self.best_of} if self.best_of > 1 else {}),
            **({"repeats": self.repeats.as_json()} if self.repeats else {}),
            "graders": _list_fingerprints(self.plain),
            "disagreements": [_disagreement(trial) for trial in self.disagreements],
        }


def _row(trial: TrialOutcome) -> dict[str, Any]:
    data = trial.metadata
    return {
        "query_id": data.query_id,
        "variant": data.variant,
        "trial": data.trial,
        **({"row_hash": data.row_hash} if data.row_hash else {}),
        **({data.derived.by: data.derived.name} if data.derived else {}),
        "attempts": trial.attempts,
        **({"judged_attempts": trial.judged} if trial.judged > 1 else {}),
        "verdict": str(data.verdict),
        "error_source": data.error_source and str(data.error_source),
        "reason": data.reason,
        "steps": data.total_steps,
        "warnings": data.warning_count,
        "duration_ms": data.total_duration_ms,
        "cost_usd": trial.cost_usd,
        "termination_reason": str(data.termination_reason),
        "grades": _grades(data, "score", lambda grade: grade.score),
    }


def _list_fingerprints(trials: Iterable[TrialOutcome]) -> dict[str, list[str]]:
    """Return by what rules each grader that decides has judged; of many of them what they have in common."""
    found: dict[str, set[str]] = {}
    for trial in trials:
        for name, grade in trial.metadata.grader_results.items():
            if not grade.advisory and grade.fingerprint:
                found.setdefault(name, set()).add(grade.fingerprint)
    return {name: _shorten(sorted(prints)) for name, prints in sorted(found.items())}


def _shorten(fingerprints: list[str]) -> list[str]:
    if len(fingerprints) <= MOST_FINGERPRINTS:
        return fingerprints
    # The last part is a hash of options, which differ where each row has its own; the row's hash covers them.
    return sorted({f"{one.rpartition('/')[0]}/*" for one in fingerprints})[:MOST_FINGERPRINTS]


def _disagreement(trial: TrialOutcome) -> dict[str, Any]:
    data = trial.metadata
    return {
        "query_id": data.query_id,
        "variant": data.variant,
        "trial": data.trial,
        "verdict": str(data.verdict),
        "grades": _grades(data, "reason", lambda grade: grade.reasoning),
    }


def _grades(data: AttemptDigest, key: str, value: Callable[[GradeDigest], Any]) -> dict[str, dict[str, Any]]:
    grades: dict[str, dict[str, Any]] = {}
    for name, grade in data.grader_results.items():
        grades[name] = {"verdict": str(grade.verdict), key: value(grade)}
        if grade.advisory:
            grades[name]["advisory"] = True
    return grades


def summarise(
    attempts: Iterable[tuple[Path | str, TaskMetadata | AttemptDigest]],
    root: Path = Path(),
    *,
    deaths: int = 0,
) -> RunSummary:
    """Fold attempts into trials, one after another.

    Args:
        attempts: folders with what is there of them, of one run.
        root: the run's folder, if theirs are below it.
        deaths: of its processes, as ``count_deaths`` counts them.
    """
    tries: dict[tuple[str, str, int], list[TrialOutcome]] = {}
    for folder, given in attempts:
        data = given if isinstance(given, AttemptDigest) else digest(given)
        judged = int(data.verdict is not Verdict.ERRORED)
        one = TrialOutcome(data, root, str(folder), 1, data.cost_usd, judged)
        tries.setdefault((data.query_id, data.variant, data.trial), []).append(one)
    trials = (own[0] if len(own) == 1 else _fold(own) for own in tries.values())
    return RunSummary(tuple(sorted(trials, key=lambda trial: trial.metadata.started_at)), deaths)


def _fold(tries: Sequence[TrialOutcome]) -> TrialOutcome:
    last = max(tries, key=lambda one: one.metadata.attempt)
    judged = sum(one.judged for one in tries if one.metadata.row_hash == last.metadata.row_hash)
    return replace(
        last, attempts=len(tries), cost_usd=total_cost(one.cost_usd for one in tries), judged=judged
    )


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum; None when a part of it is not known."""
    known, total = True, 0.0
    for cost in costs:
        known &= cost is not None
        total += cost or 0.0
    return total if known else None


def summary_of(store: RunStore) -> RunSummary:
    """Return the summary of a run folder."""
    return summarise(store.placed_digests(), store.root, deaths=count_deaths(store.root))
