"""Differences of pass rates: exact tests, intervals and words, against statsmodels."""

from __future__ import annotations

import pytest

from pytest_browsereval.features.shared.paired import Judgement, compare_pairs, mcnemar


def test_mcnemars_test_is_exact(subtests: pytest.Subtests) -> None:
    """The p-value is statsmodels', for few and for many tasks, whichever way they changed."""
    cases = [(0, 0), (1, 0), (3, 3), (0, 6), (12, 4), (86, 150), (2342, 1893), (10_000, 9_999)]
    for gained, lost in cases:
        with subtests.test(gained=gained, lost=lost):
            from statsmodels.stats import contingency_tables

            table = [[50, gained], [lost, 7]]
            expected = contingency_tables.mcnemar(table, exact=True).pvalue
            assert mcnemar(gained, lost) == pytest.approx(expected, rel=1e-9)
            assert mcnemar(lost, gained) == mcnemar(gained, lost)
    assert mcnemar(0, 20_000) == 0.0  # less likely than the smallest number


@pytest.mark.parametrize(("gained", "lost", "alike"), [(9, 4, 60), (40, 5, 300), (0, 0, 200), (30, 30, 0)])
def test_intervals_are_those_of_bonett_and_price(gained: int, lost: int, alike: int) -> None:
    """With one trial each the interval is theirs."""
    found = compare_pairs([1.0] * gained + [-1.0] * lost + [0.0] * alike).interval
    n = gained + lost + alike + 2
    up, down = (gained + 1) / n, (lost + 1) / n
    reach = 1.96 * ((up + down - (up - down) ** 2) / n) ** 0.5
    assert found
    assert (found.low, found.high) == pytest.approx((up - down - reach, up - down + reach), abs=1e-4)


def test_words(subtests: pytest.Subtests) -> None:
    """Better and worse need the interval and the exact test; few tasks that agree prove nothing."""
    cases: list[tuple[int, int, int, Judgement]] = [
        (20, 4, 76, Judgement.BETTER),
        (4, 20, 76, Judgement.WORSE),
        (2, 2, 296, Judgement.NOT_WORSE),
        (4, 9, 60, Judgement.INCONCLUSIVE),
        (5, 0, 0, Judgement.NOT_WORSE),
        (0, 5, 0, Judgement.INCONCLUSIVE),
        (6, 0, 0, Judgement.BETTER),
        (0, 0, 3, Judgement.INCONCLUSIVE),
    ]
    for gained, lost, alike, judgement in cases:
        with subtests.test(gained=gained, lost=lost, alike=alike):
            found = compare_pairs([1.0] * gained + [-1.0] * lost + [0.0] * alike)
            assert found.judge(0.05) is judgement


def test_margins_decide_what_is_not_worse() -> None:
    """The same figures are enough for a wide margin and not for a narrow one."""
    found = compare_pairs([1.0] * 6 + [-1.0] * 6 + [0.0] * 188)
    assert found.judge(0.05) is Judgement.NOT_WORSE
    assert found.judge(0.02) is Judgement.INCONCLUSIVE
    narrow, wide = found.more_tasks(0.02), found.more_tasks(0.04)
    assert narrow
    assert wide
    assert narrow > wide


def test_so_many_more_tasks_would_tell() -> None:
    """With the tasks that are asked for, and the same shares, there is a verdict."""
    found = compare_pairs([1.0] * 4 + [-1.0] * 9 + [0.0] * 60)
    assert found.judge(0.05) is Judgement.INCONCLUSIVE
    more = found.more_tasks(0.05)
    assert more
    times = (found.tasks + more) / found.tasks
    larger = compare_pairs([1.0] * round(4 * times) + [-1.0] * round(9 * times) + [0.0] * round(60 * times))
    assert larger.judge(0.05) is Judgement.WORSE
    assert compare_pairs([-1.0] * 3).more_tasks() == 3  # fewer than six changes are never beyond chance
    assert compare_pairs([0.0] * 20).more_tasks(0.0) is None


def test_without_a_task_nobody_can_tell() -> None:
    """Of nothing there is no difference, no interval and no number of tasks."""
    found = compare_pairs([])
    assert (found.value, found.interval, found.p_value) == (None, None, 1.0)
    assert (found.judge(), found.more_tasks()) == (Judgement.INCONCLUSIVE, None)
