"""Repeated trials: pass@k and pass^k against every possible draw, and the classes of unsteady tasks."""

from __future__ import annotations

from itertools import combinations

import pytest

from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.repeats import Repeats, Stability, TaskRepeats, repeats
from tests.recorded import ERRORED, FAILED, PASSED, attempt, stored

Trials = list[tuple[StoredAttempt, int]]


def trials(query_id: str, *verdicts: Verdict, variant: str = "default") -> Trials:
    """Return a task's trials, each of one attempt."""
    return [
        (stored(attempt(query_id, verdict, trial=number, variant=variant)), 1)
        for number, verdict in enumerate(verdicts, 1)
    ]


def found(*of: Trials) -> Repeats:
    """Return what trials say, which are repeated."""
    result = repeats(trial for one in of for trial in one)
    assert result is not None
    return result


def test_rates_are_those_of_all_draws(subtests: pytest.Subtests) -> None:
    """Of five judged trials every k are drawn once."""
    for passed in range(6):
        for k in range(1, 6):
            with subtests.test(passed=passed, k=k):
                results = [True] * passed + [False] * (5 - passed)
                draws = list(combinations(results, k))
                task = TaskRepeats("a", "default", passed=passed, failed=5 - passed)
                assert task.pass_at(k) == pytest.approx(sum(any(draw) for draw in draws) / len(draws))
                assert task.pass_hat(k) == pytest.approx(sum(all(draw) for draw in draws) / len(draws))
    for k in (0, 6):  # what was not tried is not guessed
        with pytest.raises(ValueError, match="judged trials cannot be drawn"):
            task.pass_at(k)


def test_a_run_has_the_mean_over_its_tasks() -> None:
    """A task with fewer judged trials than the others is counted beside, not in."""
    run = found(
        trials("a", PASSED, PASSED, PASSED),
        trials("b", PASSED, FAILED, FAILED),
        trials("c", PASSED, ERRORED, PASSED),
    )
    assert run.k == 3
    assert [task.query_id for task in run.counted] == ["a", "b"]
    assert (run.pass_at_k, run.pass_hat_k) == (1.0, 0.5)
    assert run.as_json()["tasks_counted"] == 2


def test_without_repeats_there_is_nothing_to_say() -> None:
    """Neither where each task has one trial, nor where nothing was run; k is at least two."""
    assert repeats(trials("a", PASSED) + trials("b", FAILED)) is None
    assert repeats(trials("a", PASSED, variant="x") + trials("a", FAILED, variant="y")) is None
    assert repeats(()) is None
    few = found(trials("a", PASSED, ERRORED))
    assert (few.k, few.pass_at_k, few.pass_hat_k) == (2, None, None)


def test_what_makes_a_task_unsteady(subtests: pytest.Subtests) -> None:
    """An error is never the agent's failure, and never its success, also one that a retry made good."""
    cases: list[tuple[tuple[Verdict, ...], Stability]] = [
        ((PASSED, PASSED), Stability.STABLE_PASS),
        ((FAILED, FAILED), Stability.STABLE_FAIL),
        ((PASSED, FAILED), Stability.FLAKY_AGENT),
        ((PASSED, FAILED, ERRORED), Stability.FLAKY_AGENT),
        ((PASSED, ERRORED), Stability.FLAKY_ENVIRONMENT),
        ((FAILED, ERRORED), Stability.FLAKY_ENVIRONMENT),
        ((ERRORED, ERRORED), Stability.ERRORED),
    ]
    for verdicts, kind in cases:
        with subtests.test(verdicts=verdicts, kind=kind):
            run = found(trials("a", *verdicts))
            assert run.counts == {kind: 1}
            assert bool(run.unsteady) == kind.startswith("flaky")
    again = found([(stored(attempt("a", PASSED)), 2), (stored(attempt("a", PASSED, trial=2)), 1)])
    assert (again.counts, again.unsteady[0].errored) == ({Stability.FLAKY_ENVIRONMENT: 1}, 1)
