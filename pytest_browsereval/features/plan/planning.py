"""Estimate of a run's trials, cost and time, before it starts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.runs.attempt import StoredAttempt


@dataclass
class Used:
    """What trials have used, their retries included."""

    trials: float = 0
    input_tokens: float = 0
    output_tokens: float = 0
    cost_usd: float | None = 0
    """With what judges cost; None where a part of it is not known."""
    duration_ms: float = 0

    def add(self, other: Used, times: float = 1) -> None:
        """Add what others have used, so many times."""
        self.trials += other.trials * times
        self.input_tokens += other.input_tokens * times
        self.output_tokens += other.output_tokens * times
        self.duration_ms += other.duration_ms * times
        is_known = self.cost_usd is not None and other.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0) + (other.cost_usd or 0) * times if is_known else None


@dataclass(frozen=True)
class RunPlan:
    """The size of a run, and what an earlier one says of it."""

    trials: int
    """That are to be run."""
    attempts: int
    """At most: each trial with all its retries."""
    expected: Used = field(default_factory=Used)
    """Of all trials that are not ``unknown``."""
    by_variant: int = 0
    """Trials of tasks that the earlier run does not have: they count as the mean of their variant."""
    unknown: int = 0
    """Trials of variants that the earlier run does not have."""
    longest_ms: float = 0
    """The longest of the others, by the earlier run: this run takes at least as long."""
    least: RunPlan | None = None
    """What is run in any case, where trials are made until something is decided; None: all of it."""


def plan_run(trials: Sequence[TrialKey], earlier: Iterable[StoredAttempt], *, retries: int) -> RunPlan:
    """Return what a run will take.

    A trial is expected to take what the trials of its task and variant took on average in the earlier run.

    Args:
        trials: those that are to be run.
        earlier: all attempts of an earlier run of the config.
        retries: further attempts after an errored one.
    """
    of_task, of_variant = _sums(earlier)
    expected, by_variant, unknown, longest = Used(), 0, 0, 0.0
    for key in trials:
        # A new row has no history: the mean of its variant is the best guess.
        found = of_task.get((key.query_id, key.variant)) or of_variant.get(key.variant)
        if found is None:
            unknown += 1
            continue
        expected.add(found, 1 / found.trials)
        # Lanes do not make a single trial faster.
        longest = max(longest, found.duration_ms / found.trials)
        by_variant += (key.query_id, key.variant) not in of_task
    return RunPlan(len(trials), len(trials) * (1 + retries), expected, by_variant, unknown, longest)


def _sums(earlier: Iterable[StoredAttempt]) -> tuple[dict[tuple[str, str], Used], dict[str, Used]]:
    """Return what all trials of each task and variant have used, and of each variant."""
    of_task: defaultdict[tuple[str, str], Used] = defaultdict(Used)
    of_variant: defaultdict[str, Used] = defaultdict(Used)
    seen: set[TrialKey] = set()
    for data in earlier:
        key = data.key
        used = Used(
            # A further attempt is not a further trial: its cost counts, but the mean is by trial.
            trials=key not in seen,
            input_tokens=data.usage.input_tokens,
            output_tokens=data.usage.output_tokens,
            cost_usd=data.cost_usd,
            duration_ms=data.total_duration_ms or 0,
        )
        seen.add(key)
        of_task[data.query_id, data.variant].add(used)
        of_variant[data.variant].add(used)
    return dict(of_task), dict(of_variant)
