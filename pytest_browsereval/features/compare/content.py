"""All of a comparison as plain values, for JSON."""

from __future__ import annotations

from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.features.compare.compare import (
    MEASURES,
    Change,
    Comparison,
    RunComparison,
    Side,
    count_plain,
)
from pytest_browsereval.features.shared.paired import Judgement
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.runs.trial import total_cost


def as_json(found: RunComparison) -> dict[str, Any]:
    """Return all of a comparison as plain values."""
    sides = zip("ab", (found.a, found.b), found.list_costs(), strict=True)
    return {
        **{
            name: {
                "run": run.name,
                "folder": format_path(run.folder),
                "selected": count_plain(run),
                "cost_usd": total_cost(costs),
            }
            for name, run, costs in sides
        },
        "notes": list(found.notes),
        "differences": list(found.differences),
        **_part_json(found.whole),
        "variants": {name: _part_json(part) for name, part in found.variants.items()},
        "tasks": [
            {
                "query_id": pair.query_id,
                "variant": pair.variant,
                "change": str(pair.change),
                "a": _side_json(pair.a),
                "b": _side_json(pair.b),
            }
            for pair in found.whole.pairs
        ],
    }


def _part_json(part: Comparison) -> dict[str, Any]:
    one = part.paired
    is_open = part.judgement is Judgement.INCONCLUSIVE
    return {
        "verdict": str(part.judgement),
        "margin": part.margin,
        "confidence": one.confidence,
        "more_tasks_needed": one.more_tasks(part.margin) if is_open else None,
        "difference": one.value,
        "interval": one.interval and one.interval.as_json(),
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


def _side_json(side: Side | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        **{str(verdict): sum(trial.verdict is verdict for trial in side.trials) for verdict in Verdict},
        "reason": side.reason,
        "row_hash": side.first.last.row_hash,
        **{name: side.mean(of_trial) for name, (_, of_trial) in MEASURES.items()},
    }
