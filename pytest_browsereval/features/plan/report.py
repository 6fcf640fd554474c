"""Text of a run's plan."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.features.plan.planning import RunPlan
from pytest_browsereval.model.display import format_count


def plan_lines(
    plan: RunPlan, config: EvalConfig, *, tasks: int, at_once: int, basis: str | None, why: str = ""
) -> Iterator[str]:
    """Yield the lines of a plan.

    Args:
        plan: the plan.
        config: whose.
        tasks: rows that are to be run.
        at_once: attempts at once in all processes, if there are as many.
        basis: the id of the run that the estimate rests on; None if there is none.
        why: ... and why there is none.
    """
    parts = [format_count(tasks, "task")]
    if len(config.variants) > 1:
        parts.append(f"{len(config.variants)} variants")
    if config.most_trials > 1:
        parts.append(f"{_range(config.least_trials, config.most_trials)} trials each")
    trials = format_count(plan.trials, "trial")
    if plan.least is not None:
        trials = f"{plan.least.trials} to {trials}"
    attempts = format_count(plan.attempts, "attempt")
    yield f"to run: {trials} ({', '.join(parts)}), at most {attempts}"
    if basis is None:
        yield f"tokens, cost and time: unknown, because {why}"
    else:
        yield from _estimate(plan, at_once, basis)
    budget, limits = config.budget, config.limits
    given = {
        "budget.max_cost_usd": budget.max_cost_usd,
        "budget.max_minutes": budget.max_minutes,
        "limits.max_cost_usd": limits.max_cost_usd,
    }
    parts = [f"{name} {value:g}" for name, value in given.items() if value is not None]
    yield f"limits: {', '.join(parts) or 'none (set budget.max_cost_usd or budget.max_minutes)'}"


def _range(least: object, most: object) -> str:
    return str(most) if least == most else f"{least} to {most}"


def _estimate(plan: RunPlan, at_once: int, basis: str) -> Iterator[str]:
    least = plan.least or plan
    first, used = least.expected, plan.expected
    if plan.trials == plan.unknown:
        yield f"tokens, cost and time: unknown, because run {basis} has none of these variants"
        return
    cost = "cost unknown"
    if first.cost_usd is not None and used.cost_usd is not None:
        cost = f"{_range(f'${first.cost_usd:,.2f}', f'${used.cost_usd:,.2f}')} at the prices of that run"
    taken = _range(f"{first.input_tokens:,.0f}", f"{used.input_tokens:,.0f}")
    given = _range(f"{first.output_tokens:,.0f}", f"{used.output_tokens:,.0f}")
    yield f"estimate from run {basis}:"
    yield f"  {taken} tokens in, {given} out, {cost}"
    # More lanes than trials do not make a run faster.
    at_once = max(1, min(at_once, plan.trials - plan.unknown))
    yield f"  {_range(_duration(least, at_once), _duration(plan, at_once))} with {at_once} at once"
    if plan.by_variant:
        many = format_count(plan.by_variant, "trial")
        yield f"  {many} of tasks that are new since: the mean of their variant"
    if plan.unknown:
        yield f"  not included: {format_count(plan.unknown, 'trial')} of variants that are new since"


def _duration(plan: RunPlan, at_once: int) -> str:
    # However many lanes there are, the longest trial has to end.
    return _time(max(plan.expected.duration_ms / at_once, plan.longest_ms))


def _time(ms: float) -> str:
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
