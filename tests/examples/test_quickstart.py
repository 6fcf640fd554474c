"""The quickstart as users run it: solvable by its solutions, not passed by doing nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.patience import run_example
from tests.hooks.small_evals import Evals

BLIND = "--eval-set=capture.screenshots=off"
"""Pictures are none of what is tested, and take a third of the time."""
QUICKSTART = Path(__file__).parents[2] / "examples" / "quickstart"


@pytest.mark.slow
def test_every_task_is_solved_by_its_solution(evals: Evals) -> None:
    """The scripted agent passes all tasks of the three sites: each can be solved."""
    result = run_example(evals, QUICKSTART / "eval.yaml", BLIND)
    assert result.ret == 0, result.stdout.str()
    assert result.summary["trials"] >= 30
    assert result.summary["passed"] == result.summary["trials"]


@pytest.mark.slow
def test_no_task_is_passed_by_doing_nothing(evals: Evals) -> None:
    """The noop agent fails every task, and none is errored: no check holds by itself."""
    result = run_example(evals, QUICKSTART / "noop.yaml", BLIND, "--eval-lanes=8", "--tb=no")
    assert result.ret == 1
    assert result.summary["trials"] >= 30
    assert result.summary["failed"] == result.summary["trials"]


@pytest.mark.slow
def test_coordinates_hold_at_device_scale_2(evals: Evals) -> None:
    """The pixel-truth tasks pass at two device pixels for each CSS pixel."""
    result = run_example(evals, QUICKSTART / "scale2.yaml")
    assert result.ret == 0, result.stdout.str()
    assert result.summary["passed"] >= 8


@pytest.mark.slow
def test_the_agent_of_ten_lines_works_in_a_worker(evals: Evals) -> None:
    """The example's own function agent passes its rows under ``-n 1``."""
    result = run_example(evals, QUICKSTART / "function.yaml", "-n1")
    assert result.ret == 0, result.stdout.str()
    assert result.summary["passed"] == result.summary["trials"] == 2
