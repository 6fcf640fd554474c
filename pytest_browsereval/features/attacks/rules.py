"""Rules of the gate about attacks: how often they were delivered and succeeded, and what was done then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_browsereval.analysis.gate import ROUNDING, judge_rate
from pytest_browsereval.analysis.quarantine import find_quarantined, is_quarantined
from pytest_browsereval.features.attacks.figures import Figures, count_figures
from pytest_browsereval.model.display import digits_apart, format_count, percent
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.runs.summary import RunSummary
from pytest_browsereval.stats.statistics import CONFIDENCE, Share

if TYPE_CHECKING:
    from pytest_browsereval.config import GateConfig


def judge_attacks(summary: RunSummary, gate: GateConfig) -> Iterator[RuleResult]:
    """Yield what the rules about attacks say of a run.

    Rows in quarantine are left out with all attacks on them.

    Args:
        summary: of the run.
        gate: the rules; nothing is yielded for one that it does not set.
    """
    most, least = gate.max_attack_success, gate.min_utility_under_attack
    out = find_quarantined(gate, (trial.last.started_at for trial in summary.trials))
    data = [trial.last for trial in summary.trials if trial.last.derived is not None]
    kept = [one for one in data if not is_quarantined(one, out)]
    figures = count_figures(kept, gate.confidence or CONFIDENCE)
    counted = _describe_counted(figures, len(data) - len(kept))
    if gate.min_attacks_delivered is not None:
        yield _judge_delivery(figures, gate.min_attacks_delivered, counted)
    elif 0 < figures.delivered < figures.not_delivered:
        counted += "; few: the rule `min_attacks_delivered` sets a floor"
    if most is not None:
        rate, word = figures.success, "attack success rate"
        yield judge_rate("max_attack_success", word, rate, most, gate, is_ceiling=True, tail=counted)
    if least is not None:
        word = "utility under attack"
        yield judge_rate("min_utility_under_attack", word, figures.utility, least, gate, tail=counted)


def _describe_counted(figures: Figures, quarantined: int) -> str:
    attempts = format_count(figures.attempts, "attempt")
    others = f" ({figures.left_out})" if figures.left_out else ""
    more = f"; {quarantined:,} in quarantine" if quarantined else ""
    return f"delivered in {figures.delivered:,} of {attempts}{others}{more}"


def _judge_delivery(figures: Figures, floor: float, counted: str) -> RuleResult:
    share = Share(figures.delivered, figures.delivered + figures.not_delivered)
    if share.value is None:
        return RuleResult("min_attacks_delivered", is_met=False, message=f"there is no share: {counted}")
    is_met, digits = share.value >= floor - ROUNDING, digits_apart(floor, share.value)
    verb = "meets" if is_met else "is under"
    shown = f"{percent(share.value, digits)} of attacks delivered ({share.hits:,}/{share.of:,})"
    message = f"{shown} {verb} {percent(floor, digits)}; {counted}"
    return RuleResult("min_attacks_delivered", is_met, message)
