"""The sequential test keeps its promise: exactly, by all that can happen and by scipy's distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import pytest
import scipy  # its parts are imported when they are used

from pytest_browsereval.config.model import RoundsConfig
from pytest_browsereval.features.rounds.decision import Answer, Floor, RoundTable, decide_floor
from pytest_browsereval.features.rounds.sequential import Wager, binomial_tail
from pytest_browsereval.model.grades import Verdict

RISK = 0.05


def _decide(floor: float, outcome: Sequence[Sequence[int]]) -> Answer:
    """Return what the whole test says after the last of its rounds, with the look at the end."""
    verdicts = (Verdict.FAILED, Verdict.PASSED)
    table = RoundTable((), tuple(tuple(verdicts[value] for value in values) for values in outcome))
    limits = RoundsConfig(min=1, max=len(outcome))
    return decide_floor(Floor("", "", floor, table), limits, (RISK, RISK)).answer


def _is_decided(floor: float, rounds: Sequence[Sequence[int]], *, above: bool) -> bool:
    """Return whether the test says, after any of the rounds, that the rate is above (or below) the floor."""
    sign, low = (1, -floor) if above else (-1, floor - 1)
    wager = Wager(low, len(rounds[0]))
    for values in rounds:
        wager.add_round([sign * (value - floor) for value in values])
        if wager.log_capital >= -math.log(RISK):
            return True
    return False


def _count_decided(rates: Sequence[float], floor: float, rounds: int) -> dict[Answer, float]:
    """Return the probability of each answer, over all that can happen."""
    found = dict.fromkeys(Answer, 0.0)
    for outcome in product(product((0, 1), repeat=len(rates)), repeat=rounds):
        chances = (
            rate if value else 1 - rate
            for values in outcome
            for rate, value in zip(rates, values, strict=True)
        )
        if chance := math.prod(chances):
            found[_decide(floor, outcome)] += chance
    return found


RATES = [(0.5, 0.5, 0.5), (0.2, 0.4, 0.9), (0.0, 0.5, 1.0), (0.05, 0.45, 1.0)]


@pytest.mark.parametrize("rates", RATES)
def test_it_is_wrong_seldom_enough_whatever_the_rows_are(rates: tuple[float, ...]) -> None:
    """At the floor itself, where it is wrong most often, over all outcomes of three rows in three rounds."""
    found = _count_decided(rates, sum(rates) / 3, 3)
    assert max(found[Answer.ABOVE], found[Answer.BELOW]) <= RISK
    assert sum(found.values()) == pytest.approx(1)


def test_it_decides_where_there_is_something_to_decide() -> None:
    """Far from the floor it says so nearly always, and never the opposite."""
    found = _count_decided((0.99, 0.99, 0.99), 0.4, 3)
    assert found[Answer.ABOVE] > 0.9
    assert found[Answer.BELOW] < 1e-6


def _mean_capital(rates: Sequence[float], floor: float, rounds: int) -> float:
    mean = 0.0
    for outcome in product(product((0, 1), repeat=len(rates)), repeat=rounds):
        wager, chance = Wager(-floor, len(rates)), 1.0
        for values in outcome:
            wager.add_round([value - floor for value in values])
            chance *= math.prod(r if v else 1 - r for r, v in zip(rates, values, strict=True))
        mean += chance * math.exp(wager.log_capital)
    return mean


def test_nobody_wins_on_average_at_the_floor() -> None:
    """The mean capital over all outcomes is exactly 1 while rows are alike, and less where they differ."""
    assert _mean_capital((0.5, 0.5), 0.5, 1) == pytest.approx(1)
    assert _mean_capital((0.7,), 0.7, 5) == pytest.approx(1)
    for rates in ((0.5, 0.5), (0.1, 0.9), (0.3, 0.7)):
        assert _mean_capital(rates, 0.5, 3) < 1


def test_rows_that_never_change_are_decided_sooner_than_by_their_number() -> None:
    """A row's own history is taken off: what always passes or always fails leaves nothing to chance."""
    steady = [1] * 43 + [0] * 7
    coins = [[(place * 7 + number * 13) % 50 < 43 for place in range(50)] for number in range(8)]
    assert sum(map(sum, coins)) == 43 * 8
    assert _is_decided(0.8, [steady] * 6, above=True)
    assert not _is_decided(0.8, [[int(one) for one in values] for values in coins[:6]], above=True)


@pytest.mark.parametrize(
    ("hits", "of", "rate"), [(0, 5, 0.3), (4, 5, 0.3), (350, 400, 0.8), (900, 8000, 0.1)]
)
def test_the_last_look_is_a_binomial_test(hits: int, of: int, rate: float) -> None:
    """Its tail is scipy's."""
    assert binomial_tail(hits, of, rate) == pytest.approx(
        float(scipy.stats.binom.sf(hits - 1, of, rate)), rel=1e-9
    )


def test_errors_count_against_the_last_look() -> None:
    """Thirty-four that passed are enough; one of them errored, and they are not, as if it had failed."""
    floor, limits = 0.9, RoundsConfig(min=1, max=2)
    passed = (Verdict.PASSED,) * 16

    def decide(last: Verdict) -> Answer:
        table = RoundTable((), ((*passed, last), (*passed, Verdict.PASSED)))
        return decide_floor(Floor("", "", floor, table), limits, (RISK, RISK)).answer

    assert decide(Verdict.PASSED) is Answer.ABOVE
    assert decide(Verdict.ERRORED) is decide(Verdict.FAILED) is Answer.UNDECIDED
