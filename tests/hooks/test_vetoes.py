"""Graders of plug-ins that veto, and that are asked though an attempt broke."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, row

GRADER = """
from typing import ClassVar, Literal
from pytest_browsereval import GraderConfig, GraderResult, Verdict

class Alarm(GraderConfig):
    type: Literal["alarm"] = "alarm"
    vetoes: ClassVar[bool] = {vetoes}
    judges_broken: ClassVar[bool] = {judges_broken}

    async def grade(self, recorded):
        return GraderResult(grader="alarm", verdict=Verdict.FAILED, reasoning="it rang")

class Breaks:
    async def execute(self):
        raise RuntimeError("it broke")

def pytest_browsereval_create_agent(context):
    return Breaks() if context.task.query_id == "b" else None

def pytest_browsereval_register(registry):
    registry.register(Alarm)
"""


def count_verdicts(evals: Evals, **flags: bool) -> tuple[int, int, int]:
    """Run a row that passes and one that breaks; return how many passed, failed and errored."""
    (evals.path / "conftest.py").write_text(GRADER.format(**flags))
    evals.write_rows(row("a", graders=["answer", "alarm"]), row("b", graders=["answer", "alarm"]))
    evals.write_config(pass_when="any")
    assert evals.run("shop.eval.yaml").ret == pytest.ExitCode.TESTS_FAILED
    summary = evals.summary()
    return summary["passed"], summary["failed"], summary["errored"]


def test_a_grader_vetoes_and_judges_what_broke_if_it_says_so(evals: Evals) -> None:
    """Without these it is one of several; a veto fails the row, and one that broke if it is asked."""
    assert count_verdicts(evals, vetoes=False, judges_broken=False) == (1, 0, 1)
    assert count_verdicts(evals, vetoes=True, judges_broken=False) == (0, 1, 1)
    assert count_verdicts(evals, vetoes=True, judges_broken=True) == (0, 2, 0)
    hook = GRADER.format(vetoes=True, judges_broken=True)
    (evals.path / "conftest.py").write_text(hook.replace("Verdict.FAILED", "Verdict.PASSED"))
    evals.run("shop.eval.yaml", "--eval-regrade=latest")
    assert (evals.summary()["passed"], evals.summary()["errored"]) == (1, 1)
