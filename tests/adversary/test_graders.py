"""Graders that return what they should not: the row is never passed, and is counted once."""

from __future__ import annotations

import re

import pytest

from tests.hooks.small_evals import Evals, row

pytestmark = pytest.mark.adversary

PLUGIN = """
import math, sys
from typing import Literal
import pytest
from pytest_browsereval import GraderConfig, GraderResult

def grade(**keys):
    return lambda: GraderResult(grader="odd", verdict="passed", **keys)

def copied(**keys):
    return lambda: GraderResult(grader="odd", verdict="passed", score=1).model_copy(update=keys)

class Evil:
    def __getattr__(self, name):
        raise RuntimeError(name)

ACTIONS = {
    "none": lambda: None,
    "true": lambda: True,
    "dict": lambda: {"grader": "odd", "verdict": "passed", "score": 1},
    "text": lambda: "passed",
    "evil": Evil,
    "nan": grade(score=math.nan),
    "infinite": grade(score=math.inf),
    "two": grade(score=2),
    "negative": grade(score=-1),
    "copied-nan": copied(score=math.nan),
    "copied-verdict": copied(verdict="great"),
    "constructed": lambda: GraderResult.model_construct(grader="odd", score=7, verdict="passed"),
    "skips": lambda: pytest.skip("x"),
    "xfails": lambda: pytest.xfail("x"),
    "fails": lambda: pytest.fail("x"),
    "exits": lambda: pytest.exit("x", returncode=0),
    "leaves": lambda: sys.exit(0),
}

class OddConfig(GraderConfig):
    type: Literal["odd"] = "odd"

    async def grade(self, recorded):
        act = ACTIONS.get(recorded.task.query_id) or grade(score=1)
        return act()

def pytest_browsereval_register(registry):
    registry.register(OddConfig)
"""
ODD = re.findall(r'^    "([a-z-]+)": ', PLUGIN, re.MULTILINE)


@pytest.mark.parametrize("name", ODD)
def test_a_grader_that_misbehaves_is_errored(evals: Evals, name: str) -> None:
    """It is never a pass, a failure or a skip; the row beside it passes, and the table counts both."""
    evals.pytester.makeconftest(PLUGIN)
    evals.write_rows(row(name, graders=["odd"]), row("fine", graders=["odd"]))
    evals.write_config(retries=0)
    run = evals.run("shop.eval.yaml")
    assert run.ret == pytest.ExitCode.TESTS_FAILED, run.stdout
    run.assert_outcomes(passed=1, errors=1)
    summary = run.summary
    assert (summary["selected"], summary["passed"], summary["failed"], summary["errored"]) == (2, 1, 0, 1)
    assert run.attempt(name).error_source == "grader"
    (result,) = (one for one in summary["results"] if one["query_id"] == name)
    assert result["reason"]
