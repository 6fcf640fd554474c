"""A trial of a run: its attempts, and what they come to together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import StoredAttempt


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """A trial of a stored run. It counts by its last attempt.

    An earlier attempt has errored, unless a plug-in has run the row again.
    """

    attempts: tuple[StoredAttempt, ...]
    """In their order."""

    @property
    def last(self) -> StoredAttempt:
        """The attempt that counts."""
        return self.attempts[-1]

    @property
    def verdict(self) -> Verdict:
        """Passed, failed or errored."""
        return self.last.verdict

    @property
    def cost_usd(self) -> float | None:
        """What all its attempts cost; None when a part of it is not known."""
        return total_cost(one.cost_usd for one in self.attempts)


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum; None when a part of it is not known."""
    known, total = True, 0.0
    for cost in costs:
        known &= cost is not None
        total += cost or 0.0
    return total if known else None


def list_trials(attempts: Iterable[StoredAttempt]) -> tuple[StoredTrial, ...]:
    """Return the trials of attempts of one run, in the order in which their last attempts were begun."""
    tries: dict[tuple[str, str, int], list[StoredAttempt]] = {}
    for one in attempts:
        tries.setdefault((one.query_id, one.variant, one.trial), []).append(one)
    trials = (StoredTrial(tuple(sorted(own, key=lambda one: one.attempt))) for own in tries.values())
    return tuple(sorted(trials, key=lambda trial: trial.last.started_at))
