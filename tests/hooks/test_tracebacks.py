"""Whole runs: what the code of an agent, a grader or a plug-in raised is kept with its traceback."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.launched import FUNCTION
from tests.hooks.small_evals import Evals, row

AGENT = """
def helper(key):
    raise ValueError(f"no shelf {key}")

def solve(context):
    helper(context.config.options.get("api_key"))

async def asolve(context):
    helper(None)
"""


def write(evals: Evals, *rows: dict[str, Any], **keys: Any) -> None:
    evals.write(rows or (row("a", says=None),), **{"agent": FUNCTION, **keys})
    (evals.path / "my_agent.py").write_text(AGENT)


@pytest.mark.parametrize("function", ["solve", "asolve"])
def test_an_agent_s_exception_keeps_its_traceback(evals: Evals, function: str) -> None:
    """From the user's first frame to the one that raised, in the record and, shortened, on the terminal."""
    write(evals, agent={**FUNCTION, "function": f"my_agent:{function}"})
    run = evals.run("shop.eval.yaml")
    run.assert_outcomes(errors=1)
    [error] = run.attempt("a").errors
    assert error.details is not None
    lines = str(error.details["traceback"]).splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].endswith(f'/my_agent.py", line {6 if function == "solve" else 9}, in {function}')
    assert lines[-1] == "ValueError: no shelf None"
    assert "pytest_browsereval/" not in str(error.details["traceback"])
    run.stdout.re_match_lines(
        [
            r"errored \(agent\): .*",
            r"traceback of the agent",
            rf".*my_agent\.py:\d: in {function}",
            r"    helper\(.*\)",
            r".*my_agent\.py:3: in helper",
            r'    raise ValueError\(f"no shelf {key}"\)',
            r"E   ValueError: no shelf None",
        ],
        consecutive=False,
    )


@pytest.mark.parametrize(
    ("style", "seen", "unseen"),
    [
        ("long", ["Traceback (most recent call last):", "\nValueError: no shelf None"], ["E   ValueError"]),
        ("line", ["\nerrored (agent): my_agent:solve raised"], ["in helper", "task     "]),
        ("no", ["ERROR shop.eval.yaml::a - errored (agent)"], ["in helper", "task     "]),
    ],
)
def test_the_style_of_tracebacks_is_obeyed(
    evals: Evals, style: str, seen: list[str], unseen: list[str]
) -> None:
    """``--tb`` chooses how the traceback is shown, and whether."""
    write(evals)
    text = evals.run("shop.eval.yaml", f"--tb={style}").stdout.str()
    assert [one for one in seen if one not in text] == []
    assert [one for one in unseen if one in text] == []


def test_a_grader_s_exception_keeps_its_traceback(evals: Evals) -> None:
    """Of grading and of observing, in the grade's details; the answer of a protected task is masked in it."""
    write(
        evals,
        row("a", answer="Ouagadougou", protected=True, graders=["mine"]),
        row("b", graders=["blind"]),
        agent="scripted",
    )
    (evals.path / "conftest.py").write_text(
        """
from typing import Literal
from pytest_browsereval import GraderConfig, GraderResult

def judge(answer):
    raise LookupError(f"never heard of {answer}")

class Mine(GraderConfig):
    type: Literal["mine"] = "mine"
    async def grade(self, recorded):
        judge(recorded.task.answer)

class Blind(GraderConfig):
    type: Literal["blind"] = "blind"
    async def observe(self, window, task, site_urls):
        judge("it")
    async def grade(self, recorded):
        raise AssertionError("not reached")

def pytest_browsereval_register(registry):
    registry.register(Mine)
    registry.register(Blind)
"""
    )
    run = evals.run("shop.eval.yaml")
    run.assert_outcomes(errors=2)
    kept = str(run.attempt("a").grader_results["mine"].details["traceback"])
    assert "in grade\n    judge(recorded.task.answer)" in kept
    assert kept.endswith("LookupError: never heard of [withheld]\n")
    assert "Ouagadougou" not in run.stdout.str()
    seen = str(run.attempt("b").grader_results["blind"].details["traceback"])
    assert 'in observe\n    judge("it")' in seen
    run.stdout.fnmatch_lines(["traceback of the grader mine", "*conftest.py:*: in grade"])
    run.stdout.fnmatch_lines(["traceback of the grader blind", "*conftest.py:*: in observe"])
