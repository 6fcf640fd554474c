from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_browsereval.agents.scripted import ScriptedConfig
from pytest_browsereval.errors import ErrorSource, Fault, LimitReached
from pytest_browsereval.model.results import AgentResult
from pytest_browsereval.model.tasks import Task
from tests.agents.desk import TOOLS_BY_NAME, Desk, MakeDesk

pytestmark = pytest.mark.quick

CLICK = {"tool": "click", "target": "button Buy"}
DONE = {"tool": "done", "answer": "bought"}


def play(desk: Desk, *solution: dict[str, Any]) -> AgentResult:
    config = ScriptedConfig()
    return asyncio.run(config.build(desk.context(config, solution=solution)).execute())


def test_the_solution_is_played(desk: Desk) -> None:
    """Every step reaches the page, and the answer is that of ``done``."""
    result = play(desk, CLICK, DONE)
    assert result.final_answer == "bought"
    assert desk.called == ["click", "done"]
    assert "clicked button Buy" in desk.window.text


def test_a_step_that_fails_ends_the_play(desk: Desk) -> None:
    """Later steps are not played, there is no answer, and the record says which step it was."""
    result = play(desk, {"tool": "click", "target": "button Sell"}, CLICK, DONE)
    assert result.final_answer is None
    assert desk.called == ["click"]
    [error] = desk.capture.errors
    assert error.source is ErrorSource.AGENT
    assert error.message == "step 1 of the solution failed: click: there is no button Sell"


def test_limits_and_faults_pass_through(make_desk: MakeDesk) -> None:
    """What ends an attempt is not taken for a failing step."""
    with pytest.raises(LimitReached):
        play(make_desk(max_steps=1), CLICK, CLICK, DONE)
    dying = make_desk()
    dying.window.dies_at = "button Buy"
    with pytest.raises(Fault, match="the browser died"):
        play(dying, CLICK, DONE)


def test_a_row_that_cannot_be_played_is_refused(subtests: pytest.Subtests) -> None:
    """Before anything is spent, the message names the step and what to write."""
    cases: list[tuple[tuple[dict[str, Any], ...], str]] = [
        ((), 'there is none. Write "solution": ['),
        ((DONE, CLICK), "step 1 of the solution is 'done', which ends the task"),
        (
            (CLICK, {"tool": "clik", "target": "x"}),
            "step 2 of the solution calls 'clik'.* Did you mean 'click'",
        ),
        (({"target": "x"},), "which names no tool"),
        (({"tool": 3},), "which names no tool"),
        (({"tool": "click"},), "target: Field required. It takes: target"),
        (({"tool": "click", "target": "x", "ref": "e1"},), "ref: Extra inputs are not permitted"),
        (({"tool": "wait", "seconds": "long"},), "wrong arguments for wait: seconds"),
    ]
    for solution, told in cases:
        with subtests.test(solution=solution, told=told):
            task = Task.model_validate({"query_id": "a", "query": "b", "solution": solution})
            with pytest.raises(ValueError, match=told.replace("[", r"\[")):
                ScriptedConfig().check(task, TOOLS_BY_NAME)
