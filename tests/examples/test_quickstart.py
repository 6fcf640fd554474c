"""The quickstart as users run it: solvable by its solutions, not passed by doing nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.testing.evals import EvalRun
from tests.examples.patience import PATIENCE
from tests.hooks.small_evals import Evals

BLIND = "--eval-set=capture.screenshots=off"
"""Pictures are none of what is tested, and take a third of the time."""
QUICKSTART = Path(__file__).parents[2] / "examples" / "quickstart"


def run(evals: Evals, config: str, *args: str) -> tuple[EvalRun, dict[str, Any]]:
    """Run a config of the quickstart, results in the test's folder; return the summary too."""
    out = evals.path / "out"
    result = evals.run(f"--eval-config={QUICKSTART / config}", f"--eval-output={out}", *PATIENCE, *args)
    return result, result.summary


@pytest.mark.slow
def test_every_task_is_solved_by_its_solution(evals: Evals) -> None:
    """The scripted agent passes all tasks of the three sites: each can be solved."""
    result, summary = run(evals, "eval.yaml", BLIND)
    assert result.ret == 0, result.stdout.str()
    assert summary["trials"] >= 30
    assert summary["passed"] == summary["trials"]


@pytest.mark.slow
def test_no_task_is_passed_by_doing_nothing(evals: Evals) -> None:
    """The noop agent fails every task, and none is errored: no check holds by itself."""
    result, summary = run(evals, "noop.yaml", BLIND, "--eval-lanes=8", "--tb=no")
    assert result.ret == 1
    assert summary["trials"] >= 30
    assert summary["failed"] == summary["trials"]


@pytest.mark.slow
def test_coordinates_hold_at_device_scale_2(evals: Evals) -> None:
    """The pixel-truth tasks pass at two device pixels for each CSS pixel."""
    result, summary = run(evals, "scale2.yaml")
    assert result.ret == 0, result.stdout.str()
    assert summary["passed"] >= 8


@pytest.mark.slow
def test_the_agent_of_ten_lines_works_in_a_worker(evals: Evals) -> None:
    """The example's own function agent passes its rows under ``-n 1``."""
    result, summary = run(evals, "function.yaml", "-n1")
    assert result.ret == 0, result.stdout.str()
    assert summary["passed"] == summary["trials"] == 2
