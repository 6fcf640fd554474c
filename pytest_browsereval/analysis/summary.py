"""What a run came to, as a function of its folder. The one place where a pass rate is computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.store import RunStore, TrialKey


@dataclass(frozen=True)
class TrialOutcome:
    """A trial by its last attempt: an earlier one has errored, else there were no later one."""

    metadata: TaskMetadata
    folder: Path
    attempts: int
    cost_usd: float | None
    """Of all its attempts; None when a part of it is not known."""


@dataclass(frozen=True)
class RunSummary:
    """All trials of a run that have a result.

    The pass rate is ``passed / (passed + failed)``: errored trials are not in it, always counted beside it.
    """

    trials: tuple[TrialOutcome, ...]

    def count(self, verdict: Verdict) -> int:
        """Return how many trials have that verdict."""
        return sum(trial.metadata.verdict is verdict for trial in self.trials)

    @property
    def judged(self) -> int:
        """The pass rate's denominator: trials that passed or failed."""
        return self.count(Verdict.PASSED) + self.count(Verdict.FAILED)

    @property
    def pass_rate(self) -> float | None:
        """From 0 to 1; None when no trial was judged."""
        return self.count(Verdict.PASSED) / self.judged if self.judged else None

    @property
    def error_rate(self) -> float | None:
        """Errored trials over all trials; None when there is none."""
        return self.count(Verdict.ERRORED) / len(self.trials) if self.trials else None

    @property
    def cost_usd(self) -> float | None:
        """What all attempts' models cost together; None when a part of it is not known."""
        return _total(trial.cost_usd for trial in self.trials)

    def errors_by_source(self) -> dict[str, int]:
        """Return how many trials each source of errors cost."""
        return dict(
            Counter(str(t.metadata.error_source) for t in self.trials if t.metadata.error_source is not None)
        )

    def as_json(self) -> dict[str, Any]:
        """Return the content of ``summary.json``."""
        return {
            "trials": len(self.trials),
            "passed": self.count(Verdict.PASSED),
            "failed": self.count(Verdict.FAILED),
            "errored": self.count(Verdict.ERRORED),
            "judged": self.judged,
            "pass_rate": self.pass_rate,
            "error_rate": self.error_rate,
            "errors_by_source": self.errors_by_source(),
            "cost_usd": self.cost_usd,
            "results": [_row(trial) for trial in self.trials],
        }


def _row(trial: TrialOutcome) -> dict[str, Any]:
    data = trial.metadata
    return {
        "query_id": data.query_id,
        "variant": data.variant,
        "trial": data.trial,
        "attempts": trial.attempts,
        "verdict": str(data.verdict),
        "error_source": data.error_source and str(data.error_source),
        "reason": data.reason,
        "steps": data.total_steps,
        "duration_ms": data.total_duration_ms,
        "cost_usd": trial.cost_usd,
        "termination_reason": str(data.termination_reason),
        "grades": {
            name: {"verdict": str(g.verdict), "score": g.score} for name, g in data.grader_results.items()
        },
    }


def summarise(attempts: Iterable[tuple[Path, TaskMetadata]]) -> RunSummary:
    """Fold attempts into trials.

    Args:
        attempts: folders with their metadata, of one run.
    """
    by_trial: dict[TrialKey, list[tuple[Path, TaskMetadata]]] = {}
    for folder, metadata in attempts:
        key = TrialKey(metadata.query_id, metadata.variant, metadata.trial)
        by_trial.setdefault(key, []).append((folder, metadata))
    outcomes = []
    for tries in by_trial.values():
        folder, metadata = max(tries, key=lambda one: one[1].attempt)
        cost = _total(each.cost_usd for _, each in tries)
        outcomes.append(TrialOutcome(metadata, folder, len(tries), cost))
    return RunSummary(tuple(sorted(outcomes, key=lambda outcome: outcome.metadata.started_at)))


def _total(costs: Iterable[float | None]) -> float | None:
    known, total = True, 0.0
    for cost in costs:
        known &= cost is not None
        total += cost or 0.0
    return total if known else None


def summary_of(store: RunStore) -> RunSummary:
    """Return the summary of a run folder."""
    return summarise(store.attempts())
