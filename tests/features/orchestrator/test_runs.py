"""An orchestrator of a plug-in, made of public names alone: it is recorded as ours is."""

from __future__ import annotations

import pytest

from pytest_browsereval import DelegationMessage, DelegationResultMessage
from pytest_browsereval.runs.folder import read_messages
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, call, calls
from tests.hooks.launched import metadata
from tests.hooks.small_evals import Evals, row

PLUGIN = """
from typing import Literal
from pytest_browsereval import AgentConfig, AgentEvaluator, AgentResult, AssistantMessage, ErrorMessage

class LeaderConfig(AgentConfig):
    type: Literal["leader"] = "leader"

    def build(self, context):
        return Leader(context)

class Leader(AgentEvaluator):
    def __init__(self, context):
        self.context = context

    async def execute(self):
        capture = self.context.capture
        capture.log_delegation("Look around.", "scout-1", max_steps=2)
        part = capture.nest("scout-1", role="executor")
        tools = self.context.tools.nest(part, max_steps=2)
        part.log(AssistantMessage(content="I look."))
        await tools.call("list_tabs")
        await tools.call("lst_tabs")
        capture.log_delegation_result("scout-1", "done", "One tab.", steps_used=part.steps, duration_ms=1.5)
        said = ErrorMessage(content="no time left", error_code="agent")
        return AgentResult(self.context.task.metadata.additional.get("says", "right"), messages=(said,))

def pytest_browsereval_register(registry):
    registry.register(LeaderConfig)
"""


def test_a_plug_ins_orchestrator_is_recorded_as_ours_is(evals: Evals) -> None:
    """Goals, reports and what lies between them are nested in the log; a failed call is a warning."""
    evals.pytester.makeconftest(PLUGIN)
    run = evals.play([row("right"), row("wrong", metadata={"additional": {"says": "wrong"}})], agent="leader")
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.result.assert_outcomes(passed=1, failed=1)
    (folder,) = evals.run_folder().glob("tasks/wrong/*/*/attempt-1")
    messages = list(read_messages(folder))
    assert [(m.type, m.parent_id) for m in messages] == [
        ("user", None),
        ("delegation", None),
        ("assistant", "scout-1"),
        *[("tool_call", "scout-1"), ("tool_result", "scout-1")] * 2,
        ("delegation_result", None),
        ("error", None),
    ]
    goal, report = messages[1], messages[-2]
    assert isinstance(goal, DelegationMessage)
    assert isinstance(report, DelegationResultMessage)
    assert (goal.span_id, goal.executor_id, goal.max_steps) == ("scout-1", "scout-1", 2)
    assert (report.span_id, report.status, report.steps_used, report.duration_ms) == (
        "scout-1",
        "done",
        2,
        1.5,
    )
    run.stdout.fnmatch_lines(
        ["*goal     scout-1: done, 2 steps. One tab.", "1 warning in 1 of 1 passed trials: see the *"]
    )
    (warning,) = metadata(evals.run_folder(), "right").warnings
    assert warning.source == "tool"
    told = "scout-1: lst_tabs failed: unknown tool 'lst_tabs'. Did you mean 'list_tabs'?"
    assert warning.message.startswith(told)
    assert [result["warnings"] for result in evals.summary()["results"]] == [1, 1]


GIVES_UP = """
from pytest_browsereval import AgentResult, TerminationReason

async def give_up(context):
    await context.tools.call("give_up", {"reason": "only 3 found"})

async def end_by_itself(context):
    return AgentResult("only 3 found", TerminationReason.BUDGET)

async def look(context):
    while True:
        await context.tools.call("list_tabs")

async def report(context):
    return "3 found"
"""


def test_what_a_blocked_executor_reports_is_no_answer(evals: Evals) -> None:
    """Out of turns, the last report is the answer, unless its executor has given up or was cut off."""
    (evals.path / "hands.py").write_text(GIVES_UP)
    evals.write_rows(row("a", answer="3", graders=[{"type": "answer", "match": "number"}]))
    model = call("give_up", reason="only 3 found")
    given_up = (*(f"hands:{name}" for name in ("give_up", "end_by_itself", "look")), model)
    for hand in (*given_up, "hands:report"):

        def play(request: ModelRequest) -> Reply:
            is_lead = request.body["model"] == "lead"
            return calls(call("delegate", instruction="Count.")) if is_lead else calls(model)

        with ScriptedModel(play) as server:
            executor = {"type": "function", "function": hand}
            if hand is model:
                executor = {"type": "single", "model": "hand", "base_url": server.base_url}
            lead = {"model": "lead", "base_url": server.base_url, "maxTurns": 1}
            agent = {"type": "orchestrator-executor", "orchestrator": lead, "executor": executor}
            evals.write_config(agent={**agent, "max_steps_per_delegation": 3})
            run = evals.run("shop.eval.yaml")
        attempt = run.attempt("a")
        is_answer = hand == "hands:report"
        assert attempt.verdict == ("passed" if is_answer else "failed"), (hand, attempt)
        assert attempt.final_answer == ("3 found" if is_answer else None)
        assert attempt.termination_reason == "max_steps"
