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
    if config.trials > 1:
        parts.append(f"{config.trials} trials each")
    trials, attempts = format_count(plan.trials, "trial"), format_count(plan.attempts, "attempt")
    yield f"to run: {trials} ({', '.join(parts)}), at most {attempts}"
    if basis is None:
        yield f"tokens, cost and time: unknown, because {why}"
    else:
        # More lanes than trials do not make a run faster.
        yield from _estimate(plan, max(1, min(at_once, plan.trials - plan.unknown)), basis)
    budget, limits = config.budget, config.limits
    given = {
        "budget.max_cost_usd": budget.max_cost_usd,
        "budget.max_minutes": budget.max_minutes,
        "limits.max_cost_usd": limits.max_cost_usd,
    }
    parts = [f"{name} {value:g}" for name, value in given.items() if value is not None]
    yield f"limits: {', '.join(parts) or 'none (set budget.max_cost_usd or budget.max_minutes)'}"


def _estimate(plan: RunPlan, at_once: int, basis: str) -> Iterator[str]:
    used = plan.expected
    if plan.trials == plan.unknown:
        yield f"tokens, cost and time: unknown, because run {basis} has none of these variants"
        return
    cost = "cost unknown" if used.cost_usd is None else f"${used.cost_usd:,.2f} at the prices of that run"
    yield f"estimate from run {basis}:"
    yield f"  {used.input_tokens:,.0f} tokens in, {used.output_tokens:,.0f} out, {cost}"
    # However many lanes there are, the longest trial has to end.
    yield f"  {_time(max(used.duration_ms / at_once, plan.longest_ms))} with {at_once} at once"
    if plan.by_variant:
        many = format_count(plan.by_variant, "trial")
        yield f"  {many} of tasks that are new since: the mean of their variant"
    if plan.unknown:
        yield f"  not included: {format_count(plan.unknown, 'trial')} of variants that are new since"


def _time(ms: float) -> str:
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
