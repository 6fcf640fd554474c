"""The plan of a run, in words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_browsereval.config import load_config
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.plan.planning import RunPlan, plan_run
from pytest_browsereval.features.plan.report import EvalPlan, plan_lines
from pytest_browsereval.model.trials import TrialKey
from tests.recorded import attempt, stored


def lines(folder: Path, plan: RunPlan, *, at_once: int) -> list[str]:
    """Return the lines of a plan by a run ``x``."""
    (folder / "rows.jsonl").write_text("")
    (folder / "eval.yaml").write_text("agent: noop\ndataset: rows.jsonl\ngraders: [answer]\n")
    config = load_config(folder / "eval.yaml", registry=builtin_registry())
    return list(plan_lines(EvalPlan(plan, config, plan.trials, at_once, "x", "")))


@pytest.mark.parametrize(
    ("minutes", "at_once", "told"),
    [
        ((10, 10), 8, "10 min with 2 at once"),
        ((10, 10), 1, "20 min with 1 at once"),
        ((10, 1), 2, "10 min with 2 at once"),
        ((10, 10, 10, 10), 2, "20 min with 2 at once"),
    ],
)
def test_a_run_takes_no_less_than_its_longest_trial(
    tmp_path: Path, minutes: Sequence[int], at_once: int, told: str
) -> None:
    """However many lanes there are for it."""
    earlier = [stored(attempt(str(n), total_duration_ms=one * 60_000.0)) for n, one in enumerate(minutes)]
    plan = plan_run([TrialKey(str(n)) for n in range(len(minutes))], earlier, retries=0)
    assert f"  {told}" in lines(tmp_path, plan, at_once=at_once)


def test_trials_without_an_estimate_share_no_time(tmp_path: Path) -> None:
    """They are not in the sum either; where none is to be run, nothing is divided by."""
    earlier = [stored(attempt("a", total_duration_ms=600_000.0))]
    plan = plan_run([TrialKey("a"), TrialKey("a", "other")], earlier, retries=0)
    assert "  10 min with 1 at once" in lines(tmp_path, plan, at_once=8)
    assert lines(tmp_path, plan_run([], earlier, retries=0), at_once=8)
