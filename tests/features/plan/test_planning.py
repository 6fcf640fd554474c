from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.features.plan.planning import estimate
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.runs.attempt import StoredAttempt
from tests.recorded import attempt, stored


def used(query_id: str, usd: float | None, **more: Any) -> StoredAttempt:
    usage = Usage(input_tokens=1000, output_tokens=10, requests=1, cost_usd=usd)
    return stored(attempt(query_id, cost_usd=usd, usage=usage, **more))


def test_a_trial_takes_what_its_task_took_with_its_retries() -> None:
    """Two trials of a task in the earlier run, one of which needed two attempts."""
    earlier = [used("a", 1.0), used("a", 1.0, attempt=2), used("a", 4.0, trial=2), used("b", 10.0)]
    found = estimate([TrialKey("a"), TrialKey("a", trial=2), TrialKey("a", trial=3)], earlier, 1)
    assert (found.unknown, found.by_variant) == (0, 0)
    assert found.cost_usd == pytest.approx(9.0)
    assert found.input_tokens == pytest.approx(4500)
    assert found.duration_s == pytest.approx(9)


def test_new_tasks_new_variants_and_unknown_costs_are_told() -> None:
    """A new task is like the others of its variant; a sum with something unknown in it is unknown."""
    found = estimate([TrialKey("c"), TrialKey("c", "other")], [used("a", 1.0), used("b", 3.0)], 1)
    assert (found.by_variant, found.unknown) == (1, 1)
    assert found.cost_usd == pytest.approx(2.0)
    earlier = [used("a", 1.0), used("b", None)]
    assert estimate([TrialKey("a"), TrialKey("b")], earlier, 1).cost_usd is None
    assert estimate([TrialKey("a")], earlier, 1).cost_usd == 1.0
    assert estimate([TrialKey("a")], [], 1).unknown == 1


def test_a_run_takes_no_less_than_its_longest_trial() -> None:
    """However many lanes there are for it."""
    for minutes, at_once, told in (((10, 1), 2, 10), ((10, 10, 10, 10), 2, 20), ((), 8, 0)):
        earlier = [stored(attempt(str(n), total_duration_ms=one * 60_000.0)) for n, one in enumerate(minutes)]
        trials = [TrialKey(str(n)) for n in range(len(minutes))]
        assert estimate(trials, earlier, at_once).duration_s == told * 60
