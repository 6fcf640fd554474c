"""The quickstart as users run it: solvable by its solutions, not passed by doing nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.examples.patience import PATIENCE

QUICKSTART = Path(__file__).parents[2] / "examples" / "quickstart"


def run(pytester: pytest.Pytester, config: str, *args: str) -> tuple[pytest.RunResult, dict[str, Any]]:
    """Run a config of the quickstart, results in the test's folder; return the summary too."""
    out = pytester.path / "out"
    result = pytester.runpytest_subprocess(
        "-p", "no:asyncio", f"--eval-config={QUICKSTART / config}", f"--eval-output={out}", *PATIENCE, *args
    )
    summary = next(out.glob("*/*/summary.json"))
    return result, json.loads(summary.read_text())


@pytest.mark.slow
def test_every_task_is_solved_by_its_solution(pytester: pytest.Pytester) -> None:
    """The scripted agent passes all tasks of the three sites: each can be solved."""
    result, summary = run(pytester, "eval.yaml")
    assert result.ret == 0, result.stdout.str()
    assert summary["trials"] >= 30
    assert summary["passed"] == summary["trials"]


@pytest.mark.slow
def test_no_task_is_passed_by_doing_nothing(pytester: pytest.Pytester) -> None:
    """The noop agent fails every task, and none is errored: no check holds by itself."""
    result, summary = run(pytester, "noop.yaml", "--eval-lanes=8", "--tb=no")
    assert result.ret == 1
    assert summary["trials"] >= 30
    assert summary["failed"] == summary["trials"]


@pytest.mark.slow
def test_coordinates_hold_at_device_scale_2(pytester: pytest.Pytester) -> None:
    """The pixel-truth tasks pass at two device pixels for each CSS pixel."""
    result, summary = run(pytester, "scale2.yaml")
    assert result.ret == 0, result.stdout.str()
    assert summary["passed"] >= 8


@pytest.mark.slow
def test_the_agent_of_ten_lines_works_in_two_processes(pytester: pytest.Pytester) -> None:
    """The example's own function agent passes its rows under ``-n 2``."""
    result, summary = run(pytester, "function.yaml", "-n2")
    assert result.ret == 0, result.stdout.str()
    assert summary["passed"] == summary["trials"] == 2
