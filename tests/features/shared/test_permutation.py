"""The paired permutation test, against scipy and against agents that are alike."""

from __future__ import annotations

import random

import numpy as np
import pytest
import scipy  # its parts are imported when they are used

from pytest_browsereval.features.shared import permutation as exchanging
from pytest_browsereval.features.shared.paired import mcnemar
from pytest_browsereval.features.shared.permutation import Cell, Task, compute_p_value


def drawn(numbers: random.Random, tasks: int, first: int, second: int, share: float) -> list[Task]:
    """Return trials of two agents that are alike."""

    def passed(of: int) -> int:
        return sum(numbers.random() < share for _ in range(of))

    return [(Cell(passed(first), first, passed(second), second),) for _ in range(tasks)]


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (5, 0), (9, 3), (30, 50)])
def test_one_trial_each_is_mcnemars_test(gained: int, lost: int) -> None:
    """What it comes to where that one holds."""
    tasks = [(Cell(0, 1, 1, 1),)] * gained + [(Cell(1, 1, 0, 1),)] * lost + [(Cell(1, 1, 1, 1),)] * 20
    assert compute_p_value(tasks) == pytest.approx(mcnemar(gained, lost), rel=1e-6)


def test_swapping_is_that_of_scipy() -> None:
    """Three trials each: the permutation test of paired samples, worked out in full."""
    tasks = drawn(random.Random(5), 12, 3, 3, 0.6)  # noqa: S311 repeatable, no secret
    differences = np.array([cell.difference for (cell,) in tasks])
    theirs = scipy.stats.permutation_test(
        (differences, np.zeros_like(differences)),
        lambda x, y: (x - y).mean(),
        permutation_type="samples",
        n_resamples=10_000,
    )
    assert compute_p_value(tasks) == pytest.approx(theirs.pvalue, abs=1e-9)


def test_dealing_is_fishers_test_of_one_task() -> None:
    """Of one task with other numbers of trials, the second p-value is Fisher's; the larger one is told."""
    (law,) = exchanging._laws((Cell(1, 6, 6, 7),))
    theirs = scipy.stats.fisher_exact([[1, 5], [6, 1]]).pvalue
    assert exchanging._beyond({law: 1}, 6 / 7 - 1 / 6) == pytest.approx(theirs)
    assert compute_p_value([(Cell(1, 6, 6, 7),)]) == 1.0  # by itself a task can be swapped in two ways only


@pytest.mark.parametrize(
    ("tasks", "first", "second", "share"),
    [(20, 1, 5, 0.9), (50, 5, 1, 0.97), (15, 2, 3, 0.5), (40, 3, 3, 0.9)],
)
def test_alike_agents_are_not_told_apart(tasks: int, first: int, second: int, share: float) -> None:
    """Whatever the numbers of trials, one pair of runs in twenty has p < 0.05, or fewer."""
    numbers = random.Random(3)  # noqa: S311 repeatable, no secret
    found = [compute_p_value(drawn(numbers, tasks, first, second, share)) for _ in range(200)]
    assert sum(p < 0.05 for p in found) <= 12


def test_other_agents_are() -> None:
    """One trial against five has power all the same."""
    assert compute_p_value([(Cell(1, 1, 0, 5),)] * 20) < 1e-5
    numbers = random.Random(3)  # noqa: S311 repeatable, no secret
    apart = [
        (Cell(one.passed_a, 1, two.passed_b, 5),)
        for ((one,), (two,)) in zip(drawn(numbers, 60, 1, 5, 0.9), drawn(numbers, 60, 1, 5, 0.5), strict=True)
    ]
    assert compute_p_value(apart) < 0.001


def test_many_sums_are_normal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the sums are too many to be worked out, the law of their sum says the same."""
    numbers = random.Random(8)  # noqa: S311 repeatable, no secret
    trials = [(3, 3, 0.9), (3, 3, 0.6), (5, 4, 0.7), (7, 6, 0.6), (2, 3, 0.7)]
    tasks = [task for first, second, share in trials for task in drawn(numbers, 3, first, second, share)]
    quick = compute_p_value(tasks)
    monkeypatch.setattr(exchanging, "_MOST_SUMS", 1_000_000)
    assert compute_p_value(tasks) == pytest.approx(quick, abs=0.015)
    assert 0 < compute_p_value([(Cell(0, 2, 3, 3),)] * 200) < 0.001


def test_variants_of_a_task_are_swapped_together() -> None:
    """Two variants that changed alike are one task, not two."""
    both = (Cell(0, 1, 1, 1), Cell(0, 1, 1, 1))
    assert compute_p_value([both] * 4) == pytest.approx(mcnemar(4, 0))
