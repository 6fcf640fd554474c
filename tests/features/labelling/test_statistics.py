"""Agreement beyond chance, against published figures."""

from __future__ import annotations

import pytest

from pytest_browsereval.features.labelling.agreement import cohens_kappa


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
