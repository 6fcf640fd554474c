from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.features.plan.planning import plan_run
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
    plan = plan_run([TrialKey("a"), TrialKey("a", trial=2), TrialKey("a", trial=3)], earlier, retries=2)
    assert (plan.trials, plan.attempts, plan.unknown, plan.by_variant) == (3, 9, 0, 0)
    assert plan.expected.cost_usd == pytest.approx(9.0)
    assert plan.expected.input_tokens == pytest.approx(4500)
    assert plan.expected.duration_ms == pytest.approx(9000)


def test_new_tasks_and_new_variants_are_told() -> None:
    """A new task is like the others of its variant; of a new variant nothing is known."""
    earlier = [used("a", 1.0), used("b", 3.0)]
    plan = plan_run([TrialKey("c"), TrialKey("c", "other")], earlier, retries=0)
    assert (plan.by_variant, plan.unknown) == (1, 1)
    assert plan.expected.cost_usd == pytest.approx(2.0)


def test_a_cost_that_is_not_known_stays_so() -> None:
    """A sum with something unknown in it is unknown."""
    plan = plan_run([TrialKey("a"), TrialKey("b")], [used("a", 1.0), used("b", None)], retries=0)
    assert plan.expected.cost_usd is None
    assert plan_run([TrialKey("a")], [used("a", 1.0), used("b", None)], retries=0).expected.cost_usd == 1.0


def test_without_an_earlier_run_nothing_is_guessed() -> None:
    """Only what the config says."""
    plan = plan_run([TrialKey("a")], [], retries=1)
    assert (plan.trials, plan.attempts, plan.unknown) == (1, 2, 1)
