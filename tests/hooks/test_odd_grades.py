"""Grades and tasks of plug-ins that are not what they have to be: their rows are errors that name them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row

pytestmark = pytest.mark.quick

GATES: list[dict[str, Any]] = [{}, {"gate": {"min_pass_rate": 0.5, "max_error_rate": 0.1}}]

GRADER = """
import math
from typing import Literal
from pytest_browsereval import GraderConfig, GraderResult, Verdict

class Odd(GraderConfig):
    type: Literal["odd"] = "odd"

    async def grade(self, recorded):
        good = GraderResult(grader=self.label, verdict=Verdict.FAILED, score=0)
        return good.model_copy(update=UPDATE)

def pytest_browsereval_register(registry):
    registry.register(Odd)
"""


ODD = {
    '{"score": math.nan}': "Out of range float values are not JSON compliant",
    '{"score": 7}': "score: Input should be less than or equal to 1; it is 7",
    '{"verdict": "great"}': "verdict: Input should be 'passed', 'failed' or 'errored'; it is 'great'",
    '{"verdict": Verdict.ERRORED}': "is errored, so it cannot have the score 0",
    '{"details": {"at": math.inf}}': "Out of range float values are not JSON compliant",
    '{"details": {"at": object()}}': "Unable to serialize unknown type",
    '{"criteria": ("x",)}': "criteria.0: Input should be a valid dictionary",
}
"""What a grade is changed to, and what is said of it."""


@pytest.mark.parametrize("gate", GATES, ids=["no gate", "gate"])
def test_a_grade_that_cannot_be_recorded_is_errored(evals: Evals, gate: dict[str, Any]) -> None:
    """Copied grades are checked like others: the grader is named, and the run keeps its summary."""
    grader = GRADER.replace("UPDATE", "UPDATES[int(recorded.task.query_id)]")
    evals.pytester.makeconftest(f"{grader}\nUPDATES = [{', '.join(ODD)}]\n")
    evals.write([*(row(str(number), graders=["odd"]) for number in range(len(ODD))), row("b")], **gate)
    result = evals.run("shop.eval.yaml")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.summary["errors_by_source"] == {"grader": len(ODD)}
    for number, told in enumerate(ODD.values()):
        attempt = result.attempt(str(number))
        grade = attempt.grader_results["odd"]
        assert grade.verdict == "errored"
        assert told in grade.reasoning
        assert "odd" in attempt.reason


@pytest.mark.parametrize("gate", GATES, ids=["no gate", "gate"])
@pytest.mark.parametrize("workers", [[], pytest.param(["-n2"], marks=pytest.mark.slow)], ids=["one", "two"])
def test_a_task_of_another_id_is_an_error(evals: Evals, gate: dict[str, Any], workers: list[str]) -> None:
    """``modify_task`` cannot have a row count as another one: it is errored, and the hook is named."""
    evals.pytester.makeconftest(
        """
        def pytest_browsereval_modify_task(task):
            return task.model_copy(update={"query_id": "other"})
        """
    )
    result = evals.play([row("a"), row("b", says="wrong")], *workers, **gate)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert {one.query_id: str(one.error_source) for one in result.attempts} == {
        "a": "harness",
        "b": "harness",
    }
    told = result.attempt("a").reason
    assert re.search(r"modify_task \(\S*conftest.py:1\) changed the query_id of 'a' to 'other'", told)


def test_a_protected_task_of_another_id_is_not_graded_again(evals: Evals) -> None:
    """Grading again asks the hook as well: a usage error, since nothing was spent."""
    evals.play([row("a", protected=True)])
    evals.pytester.makeconftest(
        """
        def pytest_browsereval_modify_task(task):
            return task.model_copy(update={"query_id": "other"})
        """
    )
    result = evals.run("--eval-config=shop.eval.yaml", "--eval-regrade=latest")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "changed the query_id of 'a' to 'other'" in result.stderr.str()


@pytest.mark.parametrize("verdict", ["PASSED", "FAILED"])
def test_a_grade_without_a_score_is_shown_by_its_verdict(evals: Evals, verdict: str) -> None:
    """A judged grade is no error, whether it has a score or none."""
    evals.pytester.makeconftest(GRADER.replace("UPDATE", f'{{"verdict": Verdict.{verdict}, "score": None}}'))
    evals.play([row("a", graders=["odd"])]).stdout.re_match_lines([rf".* a .* odd {verdict.lower()}\b"])


@pytest.mark.parametrize(
    "change", ['"graders": ()', '"graders": ["nope"]', '"depends_on": ("b",)', '"requires_reset": True']
)
def test_a_task_cannot_change_what_the_run_has_gone_by(evals: Evals, change: str) -> None:
    """The row is errored and the hook named: the old graders would judge beside a task that says others."""
    evals.pytester.makeconftest(
        f"""
        def pytest_browsereval_modify_task(task):
            return task.model_copy(update={{{change}}}) if task.query_id == "a" else task.model_copy()
        """
    )
    result = evals.play([row("a"), row("b")])
    result.assert_outcomes(passed=1, errors=1)
    key = change.split('"')[1]
    assert re.search(
        rf"modify_task \(\S*conftest.py:1\) changed the {key} of 'a'. Leave", result.attempt("a").reason
    )


@pytest.mark.parametrize("value", ["False", "0", "''", "[]"])
def test_what_is_no_agent_is_not_taken_for_none(evals: Evals, value: str) -> None:
    """``create_agent`` returns an agent or None; anything else is an error that names the hook."""
    evals.pytester.makeconftest(f"def pytest_browsereval_create_agent(context):\n    return {value}\n")
    result = evals.play([row("a")])
    result.assert_outcomes(errors=1)
    told = result.attempt("a").reason
    assert re.search(r"pytest_browsereval_create_agent \(\S*conftest.py:1\) returned .* is not an", told)
