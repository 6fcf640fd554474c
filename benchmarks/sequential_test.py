"""Simulates the sequential test of `trials: {min, max}`: how often it is wrong, and what it saves.

    python benchmarks/sequential_test.py --rounds 2000

prints the tables of docs/explanation/sequential-test.md; it takes about five minutes of CPU for 2,000 runs.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Iterator, Sequence

from measuring import arguments
from scipy import stats

from pytest_browsereval.config.model import RoundsConfig
from pytest_browsereval.features.rounds.decision import AT_LAST, Answer, Floor, RoundTable, decide_floor
from pytest_browsereval.features.rounds.sequential import Wager
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.stats.statistics import wilson

ROWS, FLOOR, MOST, RISK = 50, 0.8, 8, 0.05
LIMITS = RoundsConfig(min=1, max=MOST)
RATES = (0.6, 0.7, 0.75, 0.79, 0.8, 0.85, 0.9, 0.95)


def make_alike(rate: float, _: random.Random) -> list[float]:
    """Return rows that pass equally often."""
    return [rate] * ROWS


def make_unlike(rate: float, source: random.Random) -> list[float]:
    """Return rows of which most nearly always pass or fail, by a beta distribution, moved to the rate."""
    rows = [source.betavariate(rate, 1 - rate) for _ in range(ROWS)]
    for _ in range(100):
        by = rate - sum(rows) / ROWS
        rows = [min(max(row + by, 0.0), 1.0) for row in rows]
    return rows


def make_steady(rate: float, _: random.Random) -> list[float]:
    """Return rows that always pass or always fail, and one between, if need be."""
    whole = int(rate * ROWS + 1e-9)
    return [1.0] * whole + [rate * ROWS - whole] * (whole < ROWS) + [0.0] * (ROWS - whole - 1)


KINDS: dict[str, Callable[[float, random.Random], list[float]]] = {
    "alike": make_alike,
    "unlike": make_unlike,
    "steady": make_steady,
}


def run_test(rates: Sequence[float], source: random.Random) -> tuple[str, int]:
    """Return what the test says in one run, and after how many rounds."""
    verdicts = (Verdict.FAILED, Verdict.PASSED)
    rounds: list[tuple[Verdict, ...]] = []
    for number in range(1, MOST + 1):
        rounds.append(tuple(verdicts[source.random() < rate] for rate in rates))
        # What it decides after this round: before, it has not decided.
        rule = Floor("", "", FLOOR, RoundTable((), tuple(rounds)))
        answer = decide_floor(rule, LIMITS.model_copy(update={"min": number}), (RISK, RISK)).answer
        if answer is not Answer.UNDECIDED:
            return {Answer.ABOVE: "meets", Answer.BELOW: "under"}[answer], number
    return "undecided", MOST


def look_naively(rates: Sequence[float], source: random.Random) -> tuple[str, int]:
    """Return the same for whoever looks at Wilson's interval after each round."""
    passed = 0
    for number in range(1, MOST + 1):
        passed += sum(source.random() < rate for rate in rates)
        ends = wilson(passed, number * ROWS, 1 - RISK)
        if ends.low >= FLOOR:
            return "meets", number
        if ends.high < FLOOR:
            return "under", number
    return "undecided", MOST


def find_first() -> int:
    """Return how many rows have to pass for a decision after one round."""
    for passed in range(ROWS + 1):
        wager = Wager(-FLOOR, ROWS)
        wager.add_round([1 - FLOOR] * passed + [-FLOOR] * (ROWS - passed))
        if wager.log_capital >= -math.log(RISK * (1 - AT_LAST)):
            return passed
    return ROWS + 1


def simulate(runs: int) -> Iterator[str]:
    """Yield the lines of the tables.

    Args:
        runs: how many runs of each kind are simulated.
    """
    first = find_first()
    yield (
        "| rows | true rate | meets % | under % | undecided % | wrong % | trials of a row | saved % "
        "| naive: wrong % |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    exact: list[str] = []
    for kind, make in KINDS.items():
        for rate in RATES:
            source, made, early = random.Random(f"{kind} {rate}"), 0, 0  # noqa: S311 a simulation
            said, naive = dict.fromkeys(("meets", "under", "undecided"), 0), 0
            wrong = "under" if rate >= FLOOR else "meets"
            for _ in range(runs):
                rates = make(rate, source)
                answer, rounds = run_test(rates, source)
                said[answer] += 1
                made += rounds
                early += answer == "meets" and rounds == 1
                naive += look_naively(rates, source)[0] == wrong
            shares = " | ".join(f"{100 * said[one] / runs:.1f}" for one in (*said, wrong))
            mean = made / runs
            yield (
                f"| {kind} | {rate:.2f} | {shares} | {mean:.1f} | {100 * (1 - mean / MOST):.0f} "
                f"| {100 * naive / runs:.1f} |"
            )
            if kind != "unlike" and rate >= FLOOR:
                rows = make(rate, source)
                chance = float(stats.poisson_binom.sf(first - 1, rows))
                exact.append(f"| {kind} | {rate:.2f} | {100 * chance:.1f} | {100 * early / runs:.1f} |")
    yield ""
    yield "| rows | true rate | *meets* after one round: exactly, % | simulated, % |"
    yield "|---|--:|--:|--:|"
    yield from exact


def main() -> None:
    """Print the tables."""
    options = arguments((__doc__ or "").partition("\n")[0], rounds=2_000).parse_args()
    lines = []
    for line in simulate(options.rounds):
        print(line, flush=True)
        lines.append(line)
    if options.json is not None:
        options.json.write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
