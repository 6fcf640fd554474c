"""All of a comparison as plain values, for JSON."""

from __future__ import annotations

from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.compare.compare import (
    MEASURES,
    Change,
    Comparison,
    Pair,
    RunComparison,
    Side,
    count_plain,
)
from pytest_browsereval.features.shared.paired import Judgement
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.trial import total_cost


def as_json(found: RunComparison) -> dict[str, Any]:
    """Return all of a comparison as plain values."""
    costs = [total_cost(side) for side in found.list_costs()]
    return {
        "a": _run_json(found.a, costs[0]),
        "b": _run_json(found.b, costs[1]),
        "notes": list(found.notes),
        "differences": list(found.differences),
        **_part_json(found.whole),
        "variants": {name: _part_json(part) for name, part in found.variants.items()},
        "tasks": [_pair_json(pair) for pair in found.whole.pairs],
    }


def _run_json(run: StoredRun, cost_usd: float | None) -> dict[str, Any]:
    return {
        "run": run.name,
        "folder": format_path(run.folder),
        "selected": count_plain(run),
        "cost_usd": cost_usd,
    }


def _part_json(part: Comparison) -> dict[str, Any]:
    one = part.paired
    ends = one.interval
    return {
        "verdict": str(part.judgement),
        "margin": part.margin,
        "confidence": one.confidence,
        "more_tasks_needed": one.more_tasks(part.margin)
        if part.judgement is Judgement.INCONCLUSIVE
        else None,
        "difference": one.value,
        "interval": ends and ends.as_json(),
        "p_value": one.p_value,
        "test": str(one.test),
        "tasks_compared": one.tasks,
        "counts": {str(change): part.counts[change] for change in Change},
        "pass_rate": {"a": part.rate_a.as_json(), "b": part.rate_b.as_json()},
        "measures": {
            m.name: {
                "a": m.a,
                "b": m.b,
                "change": m.change,
                "interval": m.interval and m.interval.as_json(),
                "tasks": m.tasks,
            }
            for m in part.measures
        },
    }


def _pair_json(pair: Pair) -> dict[str, Any]:
    return {
        "query_id": pair.query_id,
        "variant": pair.variant,
        "change": str(pair.change),
        "a": _side_json(pair.a),
        "b": _side_json(pair.b),
    }


def _side_json(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        **{str(verdict): sum(trial.verdict is verdict for trial in side.trials) for verdict in Verdict},
        "reason": side.reason,
        "row_hash": side.first.last.row_hash,
        **{name: side.mean(of_trial) for name, (_, of_trial) in MEASURES.items()},
    }
