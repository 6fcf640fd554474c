"""Figures with their intervals, against published ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy  # its parts are imported when they are used

from pytest_browsereval.stats.statistics import (
    Share,
    cohens_kappa,
    percentile,
    pool_groups,
    rogan_gladen,
    students_t,
    wilson,
)


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


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([7], 0.95, 7),
        ([1, 2], 0.95, 1.95),
        ([4, 1, 3, 2], 0.5, 2.5),
        ([10, 20, 30, 40, 50], 0.95, 48),  # place 3.8: 40 and eight tenths of the way to 50
        ([*range(1, 21)], 0.95, 19.05),  # place 18.05
        ([*range(1, 22)], 0.95, 20),  # place 19: a value itself
        ([5, 1, 9], 0, 1),
        ([5, 1, 9], 1, 9),
    ],
)
def test_percentiles(values: list[float], share: float, expected: float) -> None:
    """They are what one computes by hand, and what numpy says by default."""
    assert percentile(values, share) == pytest.approx(expected)
    assert percentile(values, share) == pytest.approx(np.percentile(values, 100 * share))


@pytest.mark.parametrize(("values", "share"), [([], 0.95), ([1], 95), ([1], -0.1)])
def test_percentiles_that_there_are_not(values: list[float], share: float) -> None:
    """Of nothing there is none, and a share is from 0 to 1."""
    with pytest.raises(ValueError, match="have no percentile at"):
        percentile(values, share)


@pytest.mark.parametrize(
    ("table", "value", "error", "low", "high"),
    [
        pytest.param(
            [[10, 4, 1, 0], [5, 10, 12, 2], [2, 4, 12, 5], [0, 2, 6, 13]],
            *(0.3449, 0.0724, 0.2030, 0.4868),
            id="skin condition by two dermatologists: manual of SAS, PROC FREQ, agreement study",
        ),
        pytest.param(
            [[31, 12], [4, 58]],
            *(0.6757, 0.0734, 0.5317, 0.8196),
            id="two dichotomous ratings: example of ci.kappa in R's statpsych",
        ),
    ],
)
def test_kappa(table: list[list[int]], value: float, error: float, low: float, high: float) -> None:
    """Kappa, its asymptotic standard error and its interval are those that others publish."""
    found = cohens_kappa(table)
    assert found
    given = (found.value, found.standard_error, found.interval.low, found.interval.high)
    assert given == pytest.approx((value, error, low, high), abs=5e-5)
    turned = cohens_kappa([list(column) for column in zip(*table, strict=True)])
    assert turned
    assert (turned.value, turned.standard_error) == pytest.approx((found.value, found.standard_error))


def test_kappa_without_an_error_is_not_certain() -> None:
    """Where all agree, or one judge says the same of all, few cases still make a wide interval."""
    few, many = cohens_kappa([[3, 0], [0, 3]]), cohens_kappa([[300, 0], [0, 300]])
    assert few
    assert many
    assert few.value == many.value == few.interval.high == 1.0
    assert few.standard_error == 0.0
    assert few.interval.low < 0.3
    assert 0.97 < many.interval.low < 1.0
    one_sided = cohens_kappa([[0, 0], [3, 7]])
    assert one_sided
    assert one_sided.value == pytest.approx(0)
    assert one_sided.interval.low == -1.0
    assert one_sided.interval.high > 0.5


@pytest.mark.parametrize("table", [[[0, 0], [0, 0]], [[5, 0], [0, 0]], [[0, 0], [0, 5]]])
def test_kappa_is_not_always_defined(table: list[list[int]]) -> None:
    """Without a case, or where everything is the same, there is no agreement beyond chance to speak of."""
    assert cohens_kappa(table) is None


def test_kappa_stays_in_its_range() -> None:
    """Two who always say the opposite are at -1, and no interval leaves -1 to 1."""
    worst = cohens_kappa([[0, 5], [5, 0]])
    assert worst
    assert (worst.value, worst.interval.low) == (-1.0, -1.0)
    near = cohens_kappa([[4, 0], [1, 4]])
    assert near
    assert near.interval.high == 1.0


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 7, 30, 99, 100, 5_000])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_students_t(freedom: int, confidence: float) -> None:
    """Quantiles of Student's t are scipy's."""
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
    same, alike = pool_groups([Share(50, 50)] * 3), pool_groups([Share(5, 10)] * 30)
    assert same
    assert alike
    assert (same.standard_error, same.interval.high) == (0.0, 1.0)
    assert same.interval.low < 0.3
    assert alike.standard_error == 0.0
    assert alike.interval.low <= wilson(150, 300).low


@pytest.mark.parametrize(
    ("seen", "sensitivity", "specificity", "value", "low", "high"),
    [
        pytest.param(
            *(Share(4060, 11284), Share(178, 179), Share(358, 359), 0.360, 0.349, 0.372),
            id="example 1 of Lang and Reiczigel (2014)",
        ),
        pytest.param(Share(60, 100), Share(45, 50), Share(40, 50), 4 / 7, 0.3963, 0.7432, id="by hand"),
        pytest.param(Share(30, 40), Share(18, 20), Share(8, 10), 11 / 14, 0.4897, 1.0, id="cut at 1"),
        pytest.param(Share(1, 10), Share(10, 10), Share(8, 10), 0.0, 0.0, 0.3170, id="cut at 0"),
    ],
)
def test_shares_are_corrected_for_errors(  # noqa: PLR0917
    seen: Share, sensitivity: Share, specificity: Share, value: float, low: float, high: float
) -> None:
    """By Rogan and Gladen, with the interval of Lang and Reiczigel; neither leaves 0 to 1."""
    found = rogan_gladen(seen, sensitivity, specificity)
    assert found
    given = (found.value, found.interval.low, found.interval.high)
    assert given == pytest.approx((value, low, high), abs=6e-4)


def test_the_correction_step_by_step() -> None:
    """60 of 100 seen, 45 of 50 and 40 of 50 known; z * z is 3.841459."""
    found = rogan_gladen(Share(60, 100), Share(45, 50), Share(40, 50))
    assert found
    seen = 61.920729 / 103.841459  # half of z * z of the z * z cases that are added
    sensitivity, specificity = 46 / 52, 41 / 52  # one of two
    middle = (seen + specificity - 1) / (35 / 52)
    errors = (
        seen * (1 - seen) / 103.841459,
        middle**2 * (46 / 52) * (6 / 52) / 52,
        (1 - middle) ** 2 * (41 / 52) * (11 / 52) / 52,
    )
    reach = 1.959964 * sum(errors) ** 0.5 / (35 / 52)
    shift = 2 * 3.841459 * (middle * 46 * 6 / 52**3 - (1 - middle) * 41 * 11 / 52**3)
    assert sensitivity + specificity - 1 == pytest.approx(35 / 52)
    expected = (middle + shift - reach, middle + shift + reach)
    assert (found.interval.low, found.interval.high) == pytest.approx(expected, abs=1e-6)


def test_a_correction_needs_a_judge_that_tells() -> None:
    """No better than chance, or better by chance only, is not corrected; nothing is not either."""
    assert rogan_gladen(Share(5, 10), Share(5, 10), Share(5, 10)) is None
    assert rogan_gladen(Share(5, 10), Share(2, 10), Share(7, 10)) is None
    assert rogan_gladen(Share(5, 10), Share(9, 10), Share(110, 1000)) is None
    for seen, passed, failed in ((0, 9, 9), (9, 0, 9), (9, 9, 0)):
        with pytest.raises(ValueError, match="a share of nothing"):
            rogan_gladen(Share(seen, seen), Share(passed, passed), Share(failed, failed))
