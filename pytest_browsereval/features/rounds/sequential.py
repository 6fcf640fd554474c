"""A sequential test: bets against a claim about fixed rows, which lose on average while it is true.

Nothing is assumed about how rows differ, and it may be looked at after every round (Ville 1939; Waudby-Smith
and Ramdas 2024). ``docs/explanation/sequential-test.md`` says what is claimed, and has simulations.

For a floor of 80 % a trial is worth y = 1 - 0.8 if it passed, -0.8 if it failed, 0 if it errored. A round
multiplies the capital by the product of 1 + s(y - c) over its rows.

- s is chosen before the round, and no factor can be negative. Five players, each with an s of his own, share
  the capital.
- c is how much better than the mean the row has done in earlier rounds, shrunk by what may have been chance;
  over the rows it sums to 0.
- If the mean of y is 0 or less, the expected product is not above 1: it is the product of 1 + s(E[y] - c),
  which is (1 + s * mean) ** rows or less, as the geometric mean is not larger than the arithmetic one. So the
  claim is exact for any rows, however few.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, variance

STAKES = (0.06, 0.12, 0.25, 0.5, 0.9)
"""The capital is divided among players, each of whom stakes this share of what cannot be lost."""


def binomial_tail(hits: int, of: int, rate: float) -> float:
    """Return the probability of so many hits or more.

    For trials whose rates differ and are that on average it is an upper bound, if hits are at least one more
    than are expected (Hoeffding 1956).

    Args:
        hits: how many.
        of: trials.
        rate: of each; above 0 and below 1.
    """
    log, log_not, whole = math.log(rate), math.log1p(-rate), math.lgamma(of + 1)
    return math.fsum(
        math.exp(whole - math.lgamma(n + 1) - math.lgamma(of - n + 1) + n * log + (of - n) * log_not)
        for n in range(hits, of + 1)
    )


class Wager:
    """The capital of bets against the claim that the values of all rows are 0 or less on average.

    It begins as 1. While the claim is true, it is x or more at any time with a probability of at most 1 / x:
    for any rows, as long as their trials are independent of each other.

    Args:
        low: what no value is below; less than 0.
        rows: how many values a round has.
    """

    def __init__(self, low: float, rows: int) -> None:
        self._low = low
        self._logs = [0.0] * len(STAKES)
        self._sums = [0.0] * rows
        self._squares = [0.0] * rows
        self._rounds = 0

    def add_round(self, values: Sequence[float]) -> None:
        """Settle the bets on a further round.

        Args:
            values: of one trial of each row, the rows always in the same order.
        """
        expected = self._expect()
        # No row can lose more than all of what is staked on it.
        most = 1 / (max(expected) - self._low)
        for place, stake in enumerate(STAKES):
            share = stake * most
            self._logs[place] += math.fsum(
                math.log1p(share * (value - own)) for value, own in zip(values, expected, strict=True)
            )
        self._rounds += 1
        for place, value in enumerate(values):
            self._sums[place] += value
            self._squares[place] += value * value

    @property
    def log_capital(self) -> float:
        """The logarithm of the capital: it may be larger than a number can be."""
        most = max(self._logs)
        return most + math.log(fmean(math.exp(one - most) for one in self._logs))

    def _expect(self) -> list[float]:
        """Return how much more than the mean of all rows each is expected to bring, by earlier rounds.

        These sum to 0, so that taking them off changes no mean of all rows. Rows that always pass or always
        fail leave less to chance then.
        """
        means = [one / self._rounds for one in self._sums] if self._rounds else self._sums
        mean, trust = fmean(means), self._trust(means)
        return [trust * (one - mean) for one in means]

    def _trust(self, means: Sequence[float]) -> float:
        """Return which share of the difference of rows is their own, and not chance."""
        rounds = self._rounds
        if rounds == 0 or len(means) == 1:
            return 0.0
        if rounds == 1:  # nobody knows: half of it
            return 0.5
        pairs = zip(self._squares, means, strict=True)
        within = fmean(max(squares - rounds * mean * mean, 0.0) for squares, mean in pairs) / (rounds - 1)
        chance = within / rounds
        between = max(variance(means) - chance, 0.0)
        return between / (between + chance) if between > 0 else 0.0
