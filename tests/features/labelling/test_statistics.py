"""Agreement beyond chance and corrected shares, against published figures."""

from __future__ import annotations

import pytest

from pytest_browsereval.features.labelling.agreement import cohens_kappa, rogan_gladen
from pytest_browsereval.stats.statistics import Share


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
