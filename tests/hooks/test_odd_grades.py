"""Grades and tasks of plug-ins that are not what they have to be: their rows are errors that name them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row

pytestmark = pytest.mark.quick

GATES: list[dict[str, Any]] = [{}, {"gate": {"min_pass_rate": 0.5, "max_error_rate": 0.1}}]


@pytest.mark.parametrize("gate", GATES, ids=["no gate", "gate"])
@pytest.mark.parametrize("workers", [[], pytest.param(["-n2"], marks=pytest.mark.slow)])
def test_a_task_of_another_id_is_an_error(evals: Evals, gate: dict[str, Any], workers: list[str]) -> None:
    """Nor what is no task: the row is errored, and the hook is named."""
    evals.pytester.makeconftest(
        """
        def pytest_browsereval_modify_task(task):
            return task.model_copy(update={"query_id": "other"}) if task.query_id == "a" else "b"
        """
    )
    result = evals.play([row("a"), row("b", says="wrong")], *workers, **gate)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    sources = {one.query_id: str(one.error_source) for one in result.attempts}
    assert sources == {"a": "harness", "b": "harness"}
    told = result.attempt("a").reason
    assert re.search(r"modify_task \(\S*conftest.py:1\) changed the query_id of 'a' to 'other'", told)
    assert re.search(r"modify_task \(\S*conftest.py:1\) returned a `?str", result.attempt("b").reason)


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
