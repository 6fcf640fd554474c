"""What the rounds of a run say: rules of its gate, lines of its reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from pytest_browsereval.analysis.gate import build_undecided
from pytest_browsereval.analysis.quarantine import find_quarantined
from pytest_browsereval.config import GateConfig
from pytest_browsereval.config.model import RoundsConfig
from pytest_browsereval.features.rounds.decision import Answer, Decision, Floor, Standing, find_standing
from pytest_browsereval.model.display import digits_apart, format_count, percent
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.passrate import PassRate, pass_rate
from pytest_browsereval.runs.summary import RunSummary
from pytest_browsereval.stats.statistics import CONFIDENCE


def read_rounds(manifest: Mapping[str, Any]) -> RoundsConfig | None:
    """Return how many rounds a run was to have, by its manifest; None if it was not made in rounds."""
    config = manifest.get("config")
    given = config.get("trials") if isinstance(config, dict) else None
    try:
        return RoundsConfig.model_validate(given) if isinstance(given, dict) else None
    except ValidationError:  # of another version
        return None


def find_summary_standing(summary: RunSummary, rounds: RoundsConfig, gate: GateConfig) -> Standing:
    """Return what the rounds of a run have decided."""
    data = [trial.last for trial in summary.plain]
    out = find_quarantined(gate, (one.started_at for one in data))
    return find_standing(data, rounds, gate, out)


def judge_floors(
    summary: RunSummary, rounds: RoundsConfig, gate: GateConfig, standing: Standing
) -> Iterator[RuleResult]:
    """Yield the results of the rules on pass rates: what the test has decided, not the rate of a moment."""
    by_task: dict[tuple[str, str], list[StoredAttempt]] = {}
    for trial in summary.trials:
        data = trial.last
        by_task.setdefault((data.query_id, data.variant), []).append(data)
    for rule, decision in standing.floors:
        tasks = ((one.query_id, one.variant) for one in rule.table.tasks)
        rate = pass_rate(one for task in tasks for one in by_task[task])
        reason = ", when another rule had decided" if standing.is_gate_decided else ""
        is_open = decision.answer is Answer.UNDECIDED
        made = describe_made(decision.rounds, rounds) + reason * is_open
        yield _judge(rule, decision, rate, gate, made)


def describe_made(count: int, rounds: RoundsConfig) -> str:
    """Return after how many rounds something was decided, or is not."""
    return f"after {count} of {rounds.max} trials of each row"


def _judge(rule: Floor, decision: Decision, rate: PassRate, gate: GateConfig, made: str) -> RuleResult:
    if rate.value is None:
        message = f"no trial{rule.subject} was judged, so there is no pass rate"
        return RuleResult(rule.name, is_met=False, message=message)
    digits = digits_apart(rule.floor, rate.value)
    figures = f"pass rate{rule.subject} {percent(rate.value, digits)} ({rate.passed}/{rate.judged})"
    bound, sure = percent(rule.floor, digits), f"{(gate.confidence or CONFIDENCE) * 100:g} %"
    if decision.answer is Answer.UNDECIDED:
        message = f"{figures} neither meets nor misses {bound} with a confidence of {sure} {made}"
        return build_undecided(rule.name, message, gate)
    is_met = decision.answer is Answer.ABOVE
    word = "meets" if is_met else "is under"
    return RuleResult(rule.name, is_met, f"{figures} {word} {bound}; decided {made}, confidence {sure}")


# -- lines


def describe_rounds(standing: Standing, rounds: RoundsConfig, spared: int, cost_usd: float | None) -> str:
    """Return what became of the rounds, and what was saved.

    Args:
        standing: at the end.
        rounds: how many there were to be.
        spared: trials that were not needed.
        cost_usd: what they would have cost; None if that is not known.
    """
    made = describe_made(standing.rounds, rounds)
    if not standing.is_decided:
        return f"undecided {made}"
    money = f" (about ${cost_usd:.2f})" if cost_usd else ""
    return f"decided {made}; {format_count(spared, 'trial')}{money} not needed"


def describe_comparison(
    summary: RunSummary,
    decision: Decision,
    rounds: RoundsConfig,
    compared: tuple[str, str],
    confidence: float,
) -> str:
    """Return which of two variants passes more often."""
    first, second = compared
    rates = [pass_rate(one.last for one in summary.trials if one.last.variant == name) for name in compared]
    shares = " and ".join("unknown" if one.value is None else percent(one.value) for one in rates)
    made = f"{describe_made(decision.rounds, rounds)}, confidence {confidence * 100:g} %"
    if decision.answer is Answer.UNDECIDED:
        return f"{first} and {second}: undecided which passes more often ({shares}) {made}"
    how = "more" if decision.answer is Answer.ABOVE else "less"
    return f"{first} passes {how} often than {second} ({shares}); decided {made}"


def estimate_savings(summary: RunSummary, rounds: RoundsConfig) -> tuple[int, float | None]:
    """Return how many trials of all rounds were not made, and what they would have cost by the others.

    Args:
        summary: of the run.
        rounds: how many there were to be.
    """
    costs: dict[tuple[str, str], list[float | None]] = {}
    for trial in summary.trials:
        data = trial.last
        costs.setdefault((data.query_id, data.variant), []).append(trial.cost_usd)
    spared, money = 0, 0.0
    is_known = True
    for paid in costs.values():
        left = max(rounds.max - len(paid), 0)
        known = [one for one in paid if one is not None]
        is_known &= len(known) == len(paid)
        spared += left
        money += left * sum(known) / len(paid)
    return spared, money if is_known else None
