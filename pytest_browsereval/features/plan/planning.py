"""``--eval-plan`` and ``--eval-plan-json``: print what a run will take, and run nothing."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import add
from typing import Any

import pytest

from pytest_browsereval.config import EvalConfig
from pytest_browsereval.config.model import RoundsConfig
from pytest_browsereval.errors import UsageError
from pytest_browsereval.hooks.items import EvalItem
from pytest_browsereval.hooks.session import EvalSession
from pytest_browsereval.model.display import format_count
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.active import ActiveRun
from pytest_browsereval.run.lookup import LATEST, run_folder
from pytest_browsereval.run.store import home_of
from pytest_browsereval.runs.attempt import StoredAttempt
from pytest_browsereval.runs.run import StoredRun

_OF_PARTS = ("min_pass_rate", "variants", "quarantine", "confidence")
"""Keys of a gate by which a part of a run can tell whether it needs further rounds."""


class Planning:
    """Stands in for pytest's loop, once all rows were checked.

    Args:
        session: the eval session.
        processes: how many the run would have.
    """

    def __init__(self, session: EvalSession, processes: int) -> None:
        self._session = session
        self._processes = processes

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Print the plan of each eval; no item is run."""
        reporter: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        rows: dict[ActiveRun, list[EvalItem]] = {}
        for item in session.items:
            if isinstance(item, EvalItem):
                rows.setdefault(item.active_run, []).append(item)
        plans = {active_run.config.name: self._plan(active_run, items) for active_run, items in rows.items()}
        others = len(session.items) - sum(map(len, rows.values()))
        if session.config.getoption("eval_plan_json"):
            evals = [{"eval": name, **plan} for name, plan in plans.items()]
            reporter.line(json.dumps({"evals": evals, "other_tests": others}))
            return True
        for name, plan in plans.items():
            reporter.section(f"plan of eval {name}")
            for line in plan["text"]:
                reporter.line(line)
        if others:
            reporter.line(f"plus {format_count(others, 'test')} outside evals")
        reporter.line("nothing was run (--eval-plan)")
        return True

    def _plan(self, active_run: ActiveRun, items: list[EvalItem]) -> dict[str, Any]:
        """Return the plan of an eval as ``--eval-plan-json`` prints it."""
        config = active_run.config
        keys = [entry.key for entry in active_run.trials.list_due(item.entry for item in items)]
        # What is run in any case, where trials are made until something is decided.
        least = [key for key in keys if key.trial <= config.least_trials]
        at_once = config.num_workers or config.lanes * self._processes
        run, attempts, why = self._read_earlier(active_run)
        estimates = [estimate(part, attempts, at_once) for part in (least, keys)]
        if attempts and estimates[1].unknown == len(keys):
            why = f"run {run} has none of these variants"
        budget, limits = config.budget, config.limits
        given = {
            "budget.max_cost_usd": budget.max_cost_usd,
            "budget.max_minutes": budget.max_minutes,
            "limits.max_cost_usd": limits.max_cost_usd,
        }
        plan: dict[str, Any] = {
            "tasks": len({key.query_id for key in keys}),
            "variants": len(config.variants),
            "trials": {"least": len(least), "most": len(keys)},
            "attempts": len(keys) * (1 + config.retries),
            "at_once": at_once,
            "estimate": None,
            "why_unknown": why,
            "limits": {name: value for name, value in given.items() if value is not None},
            "results": str(home_of(config.output_dir, config.name)),
            "is_gated": config.is_gated,
            "part_gate": _make_part_gate(config),
        }
        if why is None:
            figures = {name: one.as_json() for name, one in zip(("least", "most"), estimates, strict=True)}
            counts = {"by_variant": estimates[1].by_variant, "not_included": estimates[1].unknown}
            plan["estimate"] = {"run": run, **figures, **counts}
        return {**plan, "text": list(_describe(plan, config))}

    def _read_earlier(self, active_run: ActiveRun) -> tuple[str, Sequence[StoredAttempt], str | None]:
        """Return the last run of the config and its attempts, or why there is none."""
        config = active_run.config
        try:
            folder = run_folder(config, LATEST, config.base_dir, before=self._session.run_id)
        except UsageError:
            return "", (), "there is no earlier run of this config"
        try:
            return folder.name, StoredRun(folder).attempts, None
        except UsageError as error:
            return "", (), str(error)


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


@dataclass(frozen=True)
class Estimate:
    """What trials will take, as an earlier run has it."""

    input_tokens: float
    output_tokens: float
    cost_usd: float | None
    """With what judges cost; None where a part of it is not known."""
    duration_s: float
    by_variant: int
    """Trials of tasks that the earlier run does not have: they count as the mean of their variant."""
    unknown: int
    """Trials of variants that it does not have: they are not included."""

    def as_json(self) -> dict[str, float | None]:
        """Return the sums."""
        cost = None if self.cost_usd is None else round(self.cost_usd, 6)
        tokens = {"input_tokens": self.input_tokens, "output_tokens": self.output_tokens}
        return {**tokens, "cost_usd": cost, "duration_s": round(self.duration_s, 3)}


def estimate(trials: Sequence[TrialKey], earlier: Iterable[StoredAttempt], at_once: int) -> Estimate:
    """Return what trials will take.

    Each is expected to take what the trials of its task and variant took on average, with their retries.

    Args:
        trials: those that are to be run.
        earlier: all attempts of an earlier run of the config.
        at_once: attempts at the same time, if there are as many.
    """
    sums, by_variant, means = _sum_up(earlier), 0, []
    for key in trials:
        # A new row has no history: the mean of its variant is the best guess.
        of_task = sums.get((key.query_id, key.variant))
        if found := of_task or sums.get((key.variant,)):
            by_variant += of_task is None
            means.append([one / found[0] for one in found])
    _, given, made, cost, total_ms = map(sum, zip(*means, strict=True)) if means else [0.0] * 5
    # Lanes do not make a single trial faster, and more lanes than trials do not help.
    longest_ms = max((one[-1] for one in means), default=0.0)
    duration_ms = max(total_ms / max(1, min(at_once, len(means))), longest_ms)
    known = None if math.isnan(cost) else cost
    return Estimate(given, made, known, duration_ms / 1000, by_variant, len(trials) - len(means))


def _sum_up(earlier: Iterable[StoredAttempt]) -> dict[tuple[str, ...], list[float]]:
    """Return trials, tokens in and out, cost and time of each task and each variant; nan is not known."""
    sums: defaultdict[tuple[str, ...], list[float]] = defaultdict(lambda: [0.0] * 5)
    seen: set[TrialKey] = set()
    for data in earlier:
        cost = math.nan if data.cost_usd is None else data.cost_usd
        # A further attempt is not a further trial: its cost counts, but the mean is by trial.
        usage, is_first = data.usage, data.key not in seen
        used = is_first, usage.input_tokens, usage.output_tokens, cost, data.total_duration_ms or 0
        seen.add(data.key)
        for place in ((data.query_id, data.variant), (data.variant,)):
            sums[place] = list(map(add, sums[place], used))
    return sums


def _describe(plan: dict[str, Any], config: EvalConfig) -> Iterator[str]:
    """Yield the plan as lines for people."""
    least, most = plan["trials"].values()
    parts = [format_count(plan["tasks"], "task")]
    if plan["variants"] > 1:
        parts.append(f"{plan['variants']} variants")
    if config.most_trials > 1:
        parts.append(f"{_range(config.least_trials, config.most_trials)} trials each")
    trials = format_count(most, "trial") if least == most else f"{least} to {format_count(most, 'trial')}"
    attempts = format_count(plan["attempts"], "attempt")
    yield f"to run: {trials} ({', '.join(parts)}), at most {attempts}"
    if (found := plan["estimate"]) is None:
        yield f"tokens, cost and time: unknown, because {plan['why_unknown']}"
    else:
        ends = [found["least"], found["most"]]
        given, made = (
            _range(*(f"{end[key]:,.0f}" for end in ends)) for key in ("input_tokens", "output_tokens")
        )
        costs = [end["cost_usd"] for end in ends]
        cost = "cost unknown"
        if None not in costs:
            cost = f"{_range(*(f'${one:,.2f}' for one in costs))} at the prices of that run"
        yield f"estimate from run {found['run']}:"
        yield f"  {given} tokens in, {made} out, {cost}"
        at_once = format_count(max(1, min(plan["at_once"], most - found["not_included"])), "attempt")
        yield f"  {_range(*(_time(end['duration_s']) for end in ends))}, {at_once} at a time"
        if found["by_variant"]:
            many = format_count(found["by_variant"], "trial")
            yield f"  {many} of tasks that are new since then: estimated by the mean of their variant"
        if left := found["not_included"]:
            yield f"  not included: {format_count(left, 'trial')} of variants that are new since then"
    limits = [f"{name} {value:g}" for name, value in plan["limits"].items()]
    yield f"limits: {', '.join(limits) or 'none (set budget.max_cost_usd or budget.max_minutes)'}"


def _range(least: object, most: object) -> str:
    return str(most) if least == most else f"{least} to {most}"


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
