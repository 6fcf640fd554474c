"""What the rounds of a run decide: pass rates against the floors of a gate, and two variants."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_browsereval.config import GateConfig
from pytest_browsereval.config.model import RoundsConfig
from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.features.rounds.sequential import Wager, binomial_tail
from pytest_browsereval.model.display import one_line
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.stats.statistics import CONFIDENCE


@dataclass(frozen=True)
class RoundTable:
    """The rounds of a run of which each task has a result by each variant."""

    tasks: tuple[StoredAttempt, ...]
    """A trial of each task by each variant, in the order of the verdicts."""
    rounds: tuple[tuple[Verdict, ...], ...]

    def choose(self, places: Sequence[int]) -> RoundTable:
        """Return the table of some of the tasks."""
        rounds = (tuple(one[place] for place in places) for one in self.rounds)
        return RoundTable(tuple(self.tasks[place] for place in places), tuple(rounds))


def read_table(trials: Iterable[StoredAttempt]) -> RoundTable:
    """Return the complete rounds of a run, up to the first one that lacks a trial.

    Args:
        trials: each by its last attempt.
    """
    tasks: dict[tuple[str, str], StoredAttempt] = {}
    verdicts: dict[tuple[str, str, int], Verdict] = {}
    for one in trials:
        tasks.setdefault((one.query_id, one.variant), one)
        verdicts[one.query_id, one.variant, one.trial] = one.verdict
    ordered, rounds = sorted(tasks), list[tuple[Verdict, ...]]()
    while ordered:
        found = [verdicts.get((*task, len(rounds) + 1)) for task in ordered]
        known = tuple(one for one in found if one is not None)
        if len(known) < len(found):
            break
        rounds.append(known)
    return RoundTable(tuple(tasks[task] for task in ordered), tuple(rounds))


class Answer(StrEnum):
    """What the test says of a rule, or of the first of two variants."""

    ABOVE = "above"
    BELOW = "below"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Decision:
    """What the test says."""

    answer: Answer
    rounds: int
    """Complete rounds when it was decided, or that there are."""


def _test(
    rounds: Sequence[Sequence[float]], ends: tuple[float, float], least: int, risks: tuple[float, float]
) -> Decision:
    """Return whether the mean over the rows is above or below 0.

    Args:
        rounds: the values of each row in each round.
        ends: between which the values are.
        least: after how many rounds it is looked at first.
        risks: the largest probabilities of saying *above* and *below* where that is false.
    """
    if not rounds or not rounds[0]:
        return Decision(Answer.UNDECIDED, len(rounds))
    rows, (low, high) = len(rounds[0]), ends
    above, below = Wager(low, rows), Wager(-high, rows)
    for number, values in enumerate(rounds, 1):
        above.add_round(values)
        below.add_round([-value for value in values])
        if number < least:
            continue
        if above.log_capital >= -math.log(risks[0]):
            return Decision(Answer.ABOVE, number)
        if below.log_capital >= -math.log(risks[1]):
            return Decision(Answer.BELOW, number)
    return Decision(Answer.UNDECIDED, len(rounds))


# -- rules of a gate


@dataclass(frozen=True)
class Floor:
    """A rule of a gate that asks for a share of passed trials."""

    name: str
    """Of the rule."""
    subject: str
    """What messages put behind *pass rate*."""
    floor: float
    table: RoundTable
    """Of the tasks that it is about."""


def list_floors(gate: GateConfig, table: RoundTable) -> list[Floor]:
    """Return the rules that trials of a sample can decide.

    Args:
        gate: the rules.
        table: without what is in quarantine.
    """
    found = []
    if gate.min_pass_rate is not None:
        found.append(Floor("min_pass_rate", "", gate.min_pass_rate, table))
    for kind, floors in (("tags", gate.tags), ("websites", gate.websites), ("variants", gate.variants)):
        for name, floor in floors.items():
            part = table.choose([n for n, one in enumerate(table.tasks) if name in _list_groups(one, kind)])
            found.append(Floor(f"{kind}[{safe_id(name)}]", f" of {one_line(name, 60)}", floor, part))
    return [one for one in found if 0 < one.floor < 1 and one.table.tasks]


def _list_groups(one: StoredAttempt, kind: str) -> tuple[str | None, ...]:
    return one.tags if kind == "tags" else (one.website if kind == "websites" else one.variant,)


AT_LAST = 0.6
"""Which share of the risk is kept for a look at all trials after the last round."""


def decide_floor(rule: Floor, limits: RoundsConfig, risks: tuple[float, float]) -> Decision:
    """Return what the test says of a rule.

    Args:
        rule: the rule.
        limits: how many rounds there are to be.
        risks: the largest probabilities of saying *above* and *below* where that is false.
    """
    # What errored is worth nothing either way: that is the rate among judged trials.
    worth = {Verdict.PASSED: 1 - rule.floor, Verdict.FAILED: -rule.floor, Verdict.ERRORED: 0.0}
    rounds = [[worth[one] for one in verdicts] for verdicts in rule.table.rounds[: limits.max]]
    before = (risks[0] * (1 - AT_LAST), risks[1] * (1 - AT_LAST))
    found = _test(rounds, (-rule.floor, 1 - rule.floor), limits.min, before)
    if found.answer is not Answer.UNDECIDED or len(rounds) < limits.max:
        return found
    verdicts = [one for verdicts in rule.table.rounds[: limits.max] for one in verdicts]
    # What errored counts against either answer.
    if _is_more(verdicts.count(Verdict.PASSED), len(verdicts), rule.floor, risks[0] * AT_LAST):
        return Decision(Answer.ABOVE, limits.max)
    if _is_more(verdicts.count(Verdict.FAILED), len(verdicts), 1 - rule.floor, risks[1] * AT_LAST):
        return Decision(Answer.BELOW, limits.max)
    return found


def _is_more(hits: int, of: int, rate: float, risk: float) -> bool:
    return hits >= of * rate + 1 and binomial_tail(hits, of, rate) <= risk


# -- two variants


def compare_variants(table: RoundTable, first: str, second: str, least: int, confidence: float) -> Decision:
    """Return whether the first of two variants passes more or less often than the second.

    Tasks are paired; a pair of trials one of which errored is worth nothing either way.
    """
    places = {(one.query_id, one.variant): place for place, one in enumerate(table.tasks)}
    pairs = [
        (place, places[query_id, second])
        for (query_id, variant), place in places.items()
        if variant == first and (query_id, second) in places
    ]
    rounds = [[_differ(one[a], one[b]) for a, b in pairs] for one in table.rounds]
    risk = (1 - confidence) / 2  # if they are equal, both answers are false
    return _test(rounds, (-1.0, 1.0), least, (risk, risk))


def _differ(first: Verdict, second: Verdict) -> float:
    if Verdict.ERRORED in (first, second):
        return 0.0
    return float(first is Verdict.PASSED) - float(second is Verdict.PASSED)


# -- all of it


@dataclass(frozen=True)
class Standing:
    """What the rounds of a run have decided so far."""

    rounds: int
    """Complete ones."""
    floors: tuple[tuple[Floor, Decision], ...]
    compared: Decision | None

    @property
    def is_gate_decided(self) -> bool:
        """Whether it is known if the gate's pass rates are met."""
        answers = [decision.answer for _, decision in self.floors]
        return Answer.BELOW in answers or Answer.UNDECIDED not in answers

    @property
    def is_decided(self) -> bool:
        """Whether no further round is needed."""
        is_compared = self.compared is None or self.compared.answer is not Answer.UNDECIDED
        return self.rounds > 0 and self.is_gate_decided and is_compared


def find_standing(
    trials: Iterable[StoredAttempt], rounds: RoundsConfig, gate: GateConfig, left_out: Iterable[str]
) -> Standing:
    """Return what the rounds of a run have decided.

    Args:
        trials: each by its last attempt.
        rounds: how many there are to be.
        gate: whose pass rates are decided.
        left_out: ids of rows in quarantine.
    """
    out = frozenset(left_out)
    table, confidence = read_table(trials), gate.confidence or CONFIDENCE
    counted = table.choose([place for place, one in enumerate(table.tasks) if one.query_id not in out])
    floors = list_floors(gate, counted)
    # Green only if all rules are met, so each has the whole risk; red if one is missed, so they share it.
    risk = 1 - confidence
    decisions = [decide_floor(one, rounds, (risk, risk / len(floors))) for one in floors]
    compared = None
    if rounds.compare is not None:
        compared = compare_variants(table, *rounds.compare, rounds.min, confidence)
    return Standing(len(table.rounds), tuple(zip(floors, decisions, strict=True)), compared)
