"""A run's plan as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.config.model import RoundsConfig
from pytest_browsereval.features.plan.planning import RunPlan
from pytest_browsereval.model.display import format_count
from pytest_browsereval.run.store import home_of

_OF_PARTS = ("min_pass_rate", "variants", "quarantine", "confidence")
"""Keys of a gate by which a part of a run can tell whether it needs further rounds."""


@dataclass(frozen=True)
class EvalPlan:
    """The plan of an eval."""

    plan: RunPlan
    config: EvalConfig
    tasks: int
    """Rows that are to be run."""
    at_once: int
    """Attempts at once in all processes, if there are as many."""
    basis: str | None
    """The id of the run that the estimate rests on; None if there is none."""
    why: str
    """... and why there is none."""

    @property
    def limits(self) -> dict[str, float]:
        """What ends the run or an attempt, by the keys of the config."""
        budget, limits = self.config.budget, self.config.limits
        given = {
            "budget.max_cost_usd": budget.max_cost_usd,
            "budget.max_minutes": budget.max_minutes,
            "limits.max_cost_usd": limits.max_cost_usd,
        }
        return {name: value for name, value in given.items() if value is not None}

    @property
    def why_unknown(self) -> str | None:
        """Why there is no estimate; None if there is one."""
        if self.basis is None:
            return self.why
        if self.plan.trials == self.plan.unknown:
            return f"run {self.basis} has none of these variants"
        return None

    def duration_s(self, plan: RunPlan) -> float:
        """Return how long this part of the plan takes, in seconds."""
        # More lanes than trials do not make a run faster, and the longest trial has to end.
        at_once = max(1, min(self.at_once, self.plan.trials - self.plan.unknown))
        return max(plan.expected.duration_ms / at_once, plan.longest_ms) / 1000


def figures(one: EvalPlan) -> dict[str, Any]:
    """Return the plan as ``--eval-plan-json`` prints it."""
    plan, least = one.plan, one.plan.least or one.plan
    estimate = None
    if one.why_unknown is None:
        ends = {"least": least, "most": plan}
        estimate = {
            "run": one.basis,
            **{
                name: {**_used(part), "duration_s": round(one.duration_s(part), 3)}
                for name, part in ends.items()
            },
            "by_variant": plan.by_variant,
            "not_included": plan.unknown,
        }
    return {
        "tasks": one.tasks,
        "variants": len(one.config.variants),
        "trials": {"least": least.trials, "most": plan.trials},
        "attempts": plan.attempts,
        "at_once": one.at_once,
        "estimate": estimate,
        "why_unknown": one.why_unknown,
        "limits": one.limits,
        "results": str(home_of(one.config.output_dir, one.config.name)),
        "is_gated": one.config.is_gated,
        "part_gate": _make_part_gate(one.config),
        "text": list(plan_lines(one)),
    }


def _make_part_gate(config: EvalConfig) -> dict[str, Any] | None:
    """Return the gate that a part of the run gets: none, as the gate is of all rows.

    Where trials are made until the gate is decided, its pass rates end the rounds of each part, and no more;
    None if it has only pass rates of rows that a part may lack.
    """
    gate = config.gate
    if not isinstance(config.trials, RoundsConfig):
        return {}
    shares = [gate.min_pass_rate, *gate.variants.values()]
    if any(share and share < 1 for share in shares):
        return {**gate.model_dump(mode="json", include={*_OF_PARTS}), "undecided": "pass"}
    return None


def _used(plan: RunPlan) -> dict[str, float | None]:
    used = plan.expected
    cost = None if used.cost_usd is None else round(used.cost_usd, 6)
    return {"input_tokens": used.input_tokens, "output_tokens": used.output_tokens, "cost_usd": cost}


def plan_lines(one: EvalPlan) -> Iterator[str]:
    """Yield the plan as lines for people."""
    plan, config = one.plan, one.config
    parts = [format_count(one.tasks, "task")]
    if len(config.variants) > 1:
        parts.append(f"{len(config.variants)} variants")
    if config.most_trials > 1:
        parts.append(f"{_range(config.least_trials, config.most_trials)} trials each")
    trials = format_count(plan.trials, "trial")
    if plan.least is not None:
        trials = f"{plan.least.trials} to {trials}"
    attempts = format_count(plan.attempts, "attempt")
    yield f"to run: {trials} ({', '.join(parts)}), at most {attempts}"
    if one.why_unknown is not None:
        yield f"tokens, cost and time: unknown, because {one.why_unknown}"
    else:
        yield from _estimate(one)
    parts = [f"{name} {value:g}" for name, value in one.limits.items()]
    yield f"limits: {', '.join(parts) or 'none (set budget.max_cost_usd or budget.max_minutes)'}"


def _range(least: object, most: object) -> str:
    return str(most) if least == most else f"{least} to {most}"


def _estimate(one: EvalPlan) -> Iterator[str]:
    plan, least = one.plan, one.plan.least or one.plan
    first, used = least.expected, plan.expected
    cost = "cost unknown"
    if first.cost_usd is not None and used.cost_usd is not None:
        cost = f"{_range(f'${first.cost_usd:,.2f}', f'${used.cost_usd:,.2f}')} at the prices of that run"
    taken = _range(f"{first.input_tokens:,.0f}", f"{used.input_tokens:,.0f}")
    given = _range(f"{first.output_tokens:,.0f}", f"{used.output_tokens:,.0f}")
    yield f"estimate from run {one.basis}:"
    yield f"  {taken} tokens in, {given} out, {cost}"
    at_once = max(1, min(one.at_once, plan.trials - plan.unknown))
    yield f"  {_range(_time(one.duration_s(least)), _time(one.duration_s(plan)))} with {at_once} at once"
    if plan.by_variant:
        many = format_count(plan.by_variant, "trial")
        yield f"  {many} of tasks that are new since: the mean of their variant"
    if plan.unknown:
        yield f"  not included: {format_count(plan.unknown, 'trial')} of variants that are new since"


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
