"""One attempt, whatever breaks in it: always a record, always a verdict, no failure where a fault was."""

from __future__ import annotations

import json

import pytest

from tests.hooks.small_evals import Evals, row

PLUGIN = """
import asyncio
from typing import Literal
from pytest_browsereval import (
    AgentConfig, AgentEvaluator, AgentResult, AssistantMessage, ErrorSource, Fault, GraderConfig,
)

class Played(AgentConfig):
    type: Literal["played"] = "played"

    def build(self, context):
        return Player(context)

class Player(AgentEvaluator):
    def __init__(self, context):
        self.context = context

    async def execute(self):
        name, window = self.context.task.query_id, self.context.window
        if name == "busy":
            raise Fault(ErrorSource.PROVIDER, "503")
        if name == "slow":
            raise TimeoutError("of its own")
        if name == "lingers":
            await self.context.tools.call("done", {"answer": "right"})
            await asyncio.sleep(60)
        if "gone" in name:
            raise RuntimeError("nothing works")
        if "late" in name:  # the page is told of first, the window not yet
            window.context.remove_listener("close", window._on_closed)
            await window.context.close()
            assert (window.url, window.dead) == ("", None)
        if name == "late, asked":
            await self.context.tools.call("read_text")
        return AgentResult("right", messages=(AssistantMessage(content="I think so."),))

class Broken(GraderConfig):
    type: Literal["broken"] = "broken"
    at: str = "grade"

    async def observe(self, *_):
        if self.at == "observe":
            raise RuntimeError("no page")
        return {"seen": True}

    async def grade(self, _):
        if self.at == "nothing":
            return None
        raise KeyError("no such rule")

def pytest_browsereval_register(registry):
    registry.register(Played)
    registry.register(Broken)

def pytest_browsereval_window_opened(window, task):
    if "dead" in task.query_id:
        window.mark_dead("the browser has died")
"""

ENDS = {
    "busy": ("errored", "provider", "503"),
    "slow": ("errored", "agent", "the agent raised TimeoutError: of its own ("),
    "lingers": ("passed", None, "1 of 1 graders passed: answer"),
    "said": ("passed", None, "1 of 1 graders passed: answer"),
}
DEATHS = {
    "dead": "the browser has died",
    "dead and gone": "the browser has died",
    "late": "The browser or its driver ended unexpectedly.",
    "late, asked": "The browser or its driver ended unexpectedly.",
}
BREAKS = {
    "observe": "the final page could not be read: RuntimeError: no page (",
    "grade": "KeyError: 'no such rule' (",
    "nothing": "it returned None, which is not a GraderResult",
}


@pytest.fixture
def played(evals: Evals) -> Evals:
    """Return evals whose agent does what its row's id says."""
    evals.pytester.makeconftest(PLUGIN)
    return evals


def test_what_an_agent_ends_with_is_recorded(played: Evals, subtests: pytest.Subtests) -> None:
    """A fault has its source; what was done in time counts; messages of the result are logged."""
    run = played.play(map(row, ENDS), agent="played", lanes=4, limits={"timeout_ms": 1000})
    for name, (verdict, source, reason) in ENDS.items():
        with subtests.test(name=name):
            record = run.attempt(name)
            assert (record.verdict, record.error_source) == (verdict, source)
            assert record.reason.startswith(reason)
    limit = "limits.timeout_ms is 1000"
    assert (run.attempt("lingers").limit, run.attempt("lingers").termination_reason) == (limit, "timeout")
    lines = (run.folder / "tasks/said/default/1/attempt-1/messages.jsonl").read_text().splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["user", "assistant"]


def test_a_browser_that_dies_is_blamed(played: Evals, subtests: pytest.Subtests) -> None:
    """Whatever the agent raised or answered because of it, also where its death is told late."""
    run = played.play(map(row, DEATHS), agent="played", browser="playwright")
    for name, reason in DEATHS.items():
        with subtests.test(name=name):
            record = run.attempt(name)
            assert (record.verdict, record.error_source, record.reason) == ("errored", "browser", reason)
            assert record.final_answer == ("right" if name in ("dead", "late") else None)


def test_a_grader_that_breaks_is_errored_never_0(played: Evals, subtests: pytest.Subtests) -> None:
    """It has no score, the other grade is there, what it saw is kept, and the attempt is errored (grader)."""
    rows = [row(at, graders=[{"type": "broken", "at": at}, "answer"]) for at in BREAKS]
    run = played.play(rows, agent="played")
    for at, why in BREAKS.items():
        with subtests.test(at=at):
            record = run.attempt(at)
            grade = record.grader_results["broken"]
            assert (grade.verdict, grade.score, record.grader_results["answer"].score) == ("errored", None, 1)
            assert grade.reasoning.startswith(why)
            assert (record.verdict, record.error_source) == ("errored", "grader")
    folder = run.folder / "tasks/grade/default/1/attempt-1"
    assert json.loads((folder / "evidence.json").read_text()) == {"broken": {"seen": True}}
