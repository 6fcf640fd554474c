"""What the rounds of a run decide: pass rates against the floors of a gate, and what is said of them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import ValidationError

from pytest_browsereval.analysis.gate import build_undecided
from pytest_browsereval.analysis.quarantine import find_quarantined
from pytest_browsereval.config import GateConfig
from pytest_browsereval.config.model import RoundsConfig
from pytest_browsereval.datasets.ids import safe_id
from pytest_browsereval.features.rounds.sequential import Wager, binomial_tail
from pytest_browsereval.model.display import digits_apart, one_line, percent
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.passrate import pass_rate
from pytest_browsereval.runs.summary import RunSummary
from pytest_browsereval.stats.statistics import CONFIDENCE

AT_LAST = 0.6
"""Which share of the risk is kept for a look at all trials after the last round."""


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


class Answer(StrEnum):
    """What the test says of a rule."""

    ABOVE = "above"
    BELOW = "below"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Floor:
    """A rule of a gate that asks for a share of passed trials."""

    name: str
    """Of the rule."""
    subject: str
    """What messages put after *pass rate*."""
    floor: float
    table: RoundTable
    """Of the tasks that it is about."""


@dataclass(frozen=True)
class Decision:
    """What the test says of a rule."""

    rule: Floor
    answer: Answer
    rounds: int
    """Complete rounds when it was decided, or that there are."""


@dataclass(frozen=True)
class Standing:
    """What the rounds of a run have decided so far."""

    limits: RoundsConfig
    rounds: int
    """Complete ones."""
    floors: tuple[Decision, ...]

    @property
    def is_decided(self) -> bool:
        """Whether it is known if the gate's pass rates are met: no further round is needed."""
        answers = [one.answer for one in self.floors]
        return self.rounds > 0 and (Answer.BELOW in answers or Answer.UNDECIDED not in answers)

    def describe(self, count: int) -> str:
        """Return after how many rounds something was decided, or is not."""
        return f"after {count} of {self.limits.max} trials of each row"


def read_rounds(manifest: Mapping[str, Any]) -> RoundsConfig | None:
    """Return how many rounds a run was to have, by its manifest; None if it was not made in rounds."""
    config = manifest.get("config")
    given = config.get("trials") if isinstance(config, dict) else None
    try:
        return RoundsConfig.model_validate(given) if isinstance(given, dict) else None
    except ValidationError:  # of another version
        return None


def find_standing(summary: RunSummary, limits: RoundsConfig, gate: GateConfig) -> Standing:
    """Return what the rounds of a run have decided.

    Args:
        summary: of the run.
        limits: how many rounds there are to be.
        gate: whose pass rates are decided.
    """
    data = [trial.last for trial in summary.plain]
    out, table = find_quarantined(gate, (one.started_at for one in data)), _read_table(data)
    counted = table.choose([place for place, one in enumerate(table.tasks) if one.query_id not in out])
    floors = _list_floors(gate, counted)
    # Green only if all rules are met, so each has the whole risk; red if one is missed, so they share it.
    risk = 1 - (gate.confidence or CONFIDENCE)
    decisions = (decide_floor(one, limits, (risk, risk / len(floors))) for one in floors)
    return Standing(limits, len(table.rounds), tuple(decisions))


def _read_table(trials: Iterable[StoredAttempt]) -> RoundTable:
    """Return the complete rounds of a run, up to the first one that lacks a trial."""
    tasks: dict[tuple[str, str], StoredAttempt] = {}
    verdicts: dict[tuple[str, str, int], Verdict] = {}
    for one in trials:
        tasks.setdefault((one.query_id, one.variant), one)
        verdicts[one.query_id, one.variant, one.trial] = one.verdict
    ordered, rounds = sorted(tasks), list[tuple[Verdict, ...]]()
    while ordered and all((*task, len(rounds) + 1) in verdicts for task in ordered):
        rounds.append(tuple(verdicts[*task, len(rounds) + 1] for task in ordered))
    return RoundTable(tuple(tasks[task] for task in ordered), tuple(rounds))


def _list_floors(gate: GateConfig, table: RoundTable) -> list[Floor]:
    """Return the rules that trials of a sample can decide; the table has nothing that is in quarantine."""
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


def decide_floor(rule: Floor, limits: RoundsConfig, risks: tuple[float, float]) -> Decision:
    """Return what the test says of a rule.

    Args:
        rule: the rule.
        limits: how many rounds there are to be.
        risks: the largest probabilities of saying *above* and *below* where that is false.
    """
    # What errored is worth nothing either way: that is the rate among judged trials.
    worth = {Verdict.PASSED: 1 - rule.floor, Verdict.FAILED: -rule.floor, Verdict.ERRORED: 0.0}
    rounds, rows = rule.table.rounds[: limits.max], len(rule.table.rounds[0]) if rule.table.rounds else 0
    if not rows:
        return Decision(rule, Answer.UNDECIDED, len(rounds))
    above, below = Wager(-rule.floor, rows), Wager(rule.floor - 1, rows)
    for number, verdicts in enumerate(rounds, 1):
        above.add_round([worth[one] for one in verdicts])
        below.add_round([-worth[one] for one in verdicts])
        if number >= limits.min and above.log_capital >= -math.log(risks[0] * (1 - AT_LAST)):
            return Decision(rule, Answer.ABOVE, number)
        if number >= limits.min and below.log_capital >= -math.log(risks[1] * (1 - AT_LAST)):
            return Decision(rule, Answer.BELOW, number)
    if len(rounds) == limits.max:
        all_verdicts = [one for verdicts in rounds for one in verdicts]
        # What errored counts against either answer.
        if _is_more(all_verdicts.count(Verdict.PASSED), len(all_verdicts), rule.floor, risks[0] * AT_LAST):
            return Decision(rule, Answer.ABOVE, limits.max)
        if _is_more(
            all_verdicts.count(Verdict.FAILED), len(all_verdicts), 1 - rule.floor, risks[1] * AT_LAST
        ):
            return Decision(rule, Answer.BELOW, limits.max)
    return Decision(rule, Answer.UNDECIDED, len(rounds))


def _is_more(hits: int, of: int, rate: float, risk: float) -> bool:
    return hits >= of * rate + 1 and binomial_tail(hits, of, rate) <= risk


def judge_floors(summary: RunSummary, standing: Standing, gate: GateConfig) -> Iterator[RuleResult]:
    """Yield the results of the rules on pass rates: what the test has decided, not the rate of a moment."""
    for decision in standing.floors:
        rule = decision.rule
        tasks = {(one.query_id, one.variant) for one in rule.table.tasks}
        data = (trial.last for trial in summary.trials)
        rate = pass_rate(one for one in data if (one.query_id, one.variant) in tasks)
        if rate.value is None:
            message = f"no trial{rule.subject} was judged, so there is no pass rate"
            yield RuleResult(rule.name, is_met=False, message=message)
            continue
        digits, made = digits_apart(rule.floor, rate.value), standing.describe(decision.rounds)
        figures = f"pass rate{rule.subject} {percent(rate.value, digits)} ({rate.passed}/{rate.judged})"
        bound, sure = percent(rule.floor, digits), f"{(gate.confidence or CONFIDENCE) * 100:g} %"
        if decision.answer is Answer.UNDECIDED:
            reason = "; the run ended because another rule was decided" if standing.is_decided else ""
            message = f"{figures} neither meets nor misses {bound} with a confidence of {sure} {made}{reason}"
            yield build_undecided(rule.name, message, gate)
        else:
            is_met = decision.answer is Answer.ABOVE
            verb = "meets" if is_met else "is under"
            message = f"{figures} {verb} {bound}; decided {made}, confidence {sure}"
            yield RuleResult(rule.name, is_met, message)
