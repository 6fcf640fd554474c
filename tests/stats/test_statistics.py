"""Figures with their intervals, against published ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy  # its parts are imported when they are used

from pytest_browsereval.stats.statistics import Share, percentile, pool_groups, students_t, wilson


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_shares_have_wilsons_interval(hits: int, of: int, low: float, high: float) -> None:
    """The four cases of Newcombe, Statistics in Medicine 17 (1998), table I, method 3."""
    found = wilson(hits, of)
    assert [found.low, found.high] == pytest.approx([low, high], abs=5e-5)


def test_intervals_of_shares_end_at_nothing_and_all() -> None:
    """At 0 and at 1 the interval ends there, and is the mirror of the other; of nothing there is none."""
    none, every = wilson(0, 7), wilson(7, 7)
    assert none.low == 0.0
    assert every.high == 1.0
    assert every.low == pytest.approx(1 - none.high)
    assert (Share(0, 0).value, Share(0, 0).interval) == (None, None)
    assert (Share(3, 4).value, Share(3, 4).interval) == (0.75, wilson(3, 4))
    for hits, of in ((0, 0), (3, 2), (-1, 2)):
        with pytest.raises(ValueError, match=f"{hits} of {of} is not a share"):
            wilson(hits, of)


def test_percentiles(subtests: pytest.Subtests) -> None:
    """They are what one computes by hand, and what numpy says by default."""
    cases: list[tuple[list[float], float, float]] = [
        ([7], 0.95, 7),
        ([1, 2], 0.95, 1.95),
        ([4, 1, 3, 2], 0.5, 2.5),
        ([10, 20, 30, 40, 50], 0.95, 48),  # place 3.8: 40 and eight tenths of the way to 50
        ([*range(1, 21)], 0.95, 19.05),  # place 18.05
        ([*range(1, 22)], 0.95, 20),  # place 19: a value itself
        ([5, 1, 9], 0, 1),
        ([5, 1, 9], 1, 9),
    ]
    for values, share, expected in cases:
        with subtests.test(values=values, share=share, expected=expected):
            assert percentile(values, share) == pytest.approx(expected)
            assert percentile(values, share) == pytest.approx(np.percentile(values, 100 * share))


@pytest.mark.parametrize(("values", "share"), [([], 0.95), ([1], 95), ([1], -0.1)])
def test_percentiles_that_there_are_not(values: list[float], share: float) -> None:
    """Of nothing there is none, and a share is from 0 to 1."""
    with pytest.raises(ValueError, match="have no percentile at"):
        percentile(values, share)


def test_students_t(subtests: pytest.Subtests) -> None:
    """Quantiles of Student's t are scipy's."""
    for freedom in [1, 2, 3, 4, 7, 30, 99, 100, 5_000]:
        for confidence in [0.8, 0.95, 0.99]:
            with subtests.test(freedom=freedom, confidence=confidence):
                expected = scipy.stats.t.ppf(0.5 + confidence / 2, freedom)
                assert students_t(freedom, confidence) == pytest.approx(expected, rel=1e-7)


def test_wilsons_interval_is_that_of_statsmodels() -> None:
    """Also at other confidences, and for large numbers."""
    from statsmodels.stats.proportion import proportion_confint

    for hits, of, confidence in ((3, 7, 0.9), (0, 12, 0.99), (13_168, 19_395, 0.95)):
        expected = proportion_confint(hits, of, alpha=1 - confidence, method="wilson")
        found = wilson(hits, of, confidence)
        assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)


SITES = [Share(9, 10), Share(2, 10), Share(7, 8), Share(0, 5), Share(6, 6), Share(12, 20)]


def test_the_error_of_groups_is_that_of_statsmodels() -> None:
    """The standard error is the cluster-robust one of a mean, with its usual correction."""
    from statsmodels.regression.linear_model import OLS

    passed = [value for site in SITES for value in [1] * site.hits + [0] * (site.of - site.hits)]
    names = [name for name, site in enumerate(SITES) for _ in range(site.of)]
    fitted = OLS(passed, np.ones(len(passed))).fit(cov_type="cluster", cov_kwds={"groups": np.array(names)})
    found = pool_groups(SITES)
    assert found
    assert found.value == pytest.approx(36 / 59)
    assert found.groups == 6
    assert found.standard_error == pytest.approx(fitted.bse[0], rel=1e-9)


def test_intervals_of_groups() -> None:
    """Wilson's of as many independent trials as have that error, by Student's t: wider, and in 0 to 1."""
    from statsmodels.stats.proportion import proportion_confint

    found, alone = pool_groups(SITES), wilson(36, 59)
    assert found
    cases = found.value * (1 - found.value) / found.standard_error**2
    alpha = 2 * scipy.stats.norm.sf(scipy.stats.t.ppf(0.975, 5))
    expected = proportion_confint(found.value * cases, cases, alpha=alpha, method="wilson")
    assert (found.interval.low, found.interval.high) == pytest.approx(expected, abs=1e-7)
    assert found.interval.low < alone.low < alone.high < found.interval.high


def test_groups_that_say_nothing_of_their_likeness() -> None:
    """All the same counts as many cases as groups; alike groups are never surer than independent trials."""
    assert pool_groups([Share(3, 4)]) is pool_groups([Share(3, 4), Share(0, 0)]) is pool_groups([]) is None
    assert pool_groups([Share(3, 4), Share(1, 4)]) is not None
    same, alike = pool_groups([Share(50, 50)] * 3), pool_groups([Share(5, 10)] * 30)
    assert same
    assert alike
    assert (same.standard_error, same.interval.high) == (0.0, 1.0)
    assert same.interval.low < 0.3
    assert alike.standard_error == 0.0
    assert alike.interval.low <= wilson(150, 300).low
