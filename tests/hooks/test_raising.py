"""Whatever the code of an attempt raises: the attempt that ran is recorded as errored, with its cost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.small_evals import Evals, row

PLUGIN = """
import asyncio
from typing import Literal
from pytest_browsereval import GraderConfig, GraderResult, Usage, Verdict

class Odd(BaseException):
    pass

KINDS = {
    "odd": Odd("so"),
    "closed": GeneratorExit("so"),
    "cancelled": asyncio.CancelledError("so"),
    "interrupted": KeyboardInterrupt("so"),
    "left": SystemExit("so"),
    "group": BaseExceptionGroup("so", [Odd("so")]),
    "value": ValueError("so"),
}

def act(place, name):
    if place == PLACE and name in KINDS:
        raise KINDS[name]

class Judge(GraderConfig):
    type: Literal["judge"] = "judge"

    async def observe(self, window, task, site_urls):
        act("observe", task.query_id)

    async def grade(self, recorded):
        act("grade", recorded.task.query_id)
        return GraderResult(grader=self.label, verdict=Verdict.PASSED, score=1)

async def agent(context):
    context.capture.spend(Usage(requests=1, cost_usd=3))
    act("agent", context.task.query_id)
    try:
        await context.tools.call("list_tabs")
    except Exception:
        pass
    return "right"

def sync_agent(context):
    act("sync_agent", context.task.query_id)
    return "right"

def pytest_browsereval_register(registry):
    registry.register(Judge)

def pytest_browsereval_modify_task(task):
    act("modify_task", task.query_id)

def pytest_browsereval_window_opened(window, task):
    act("window_opened", task.query_id)

def pytest_browsereval_create_agent(context):
    act("create_agent", context.task.query_id)

def pytest_browsereval_tool_call(name, arguments, task):
    act("tool_call", task.query_id)

def pytest_browsereval_message(node_id, message):
    if message.type == "tool_call" or PLACE == "first_message":
        act(PLACE if "message" in PLACE else "", node_id.partition("::")[2])

def pytest_browsereval_grade(grader, recorded):
    act("grade_hook", recorded.task.query_id)
"""

SOURCES = {
    "agent": ("agent", 3.0),
    "sync_agent": ("agent", None),
    "observe": ("grader", 3.0),
    "grade": ("grader", 3.0),
    "grade_hook": ("grader", 3.0),
    "tool_call": ("harness", 3.0),
    "message": ("harness", 3.0),
    "first_message": ("harness", None),
    "modify_task": ("harness", None),
    "window_opened": ("harness", None),
    "create_agent": ("", None),
}
"""Where it is raised: the source of the error, and what the attempt has spent by then."""

KINDS = ("odd", "closed", "cancelled", "interrupted", "left", "group", "value")


@pytest.mark.parametrize("place", SOURCES)
def test_what_is_raised_costs_no_attempt_its_record(evals: Evals, place: str) -> None:
    """One attempt a row: errored, with its source, its cost and who raised what; the row beside it passes."""
    source, cost = SOURCES[place]
    evals.pytester.makeconftest(f"PLACE = {place!r}\n{PLUGIN}")
    evals.pytester.makepyfile(
        own="import conftest\nagent, sync_agent = conftest.agent, conftest.sync_agent\n"
    )
    evals.write_rows(*(row(name, graders=["judge"]) for name in (*KINDS, "fine")))
    function = "own:sync_agent" if place == "sync_agent" else "own:agent"
    evals.write_config(agent={"type": "function", "function": function})
    run = evals.run("shop.eval.yaml")
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.assert_outcomes(passed=1, errors=len(KINDS))
    found: dict[str, Any] = {one.query_id: one for one in run.attempts}
    assert len(run.attempts) == len(KINDS) + 1
    assert run.summary["errored"] == len(KINDS)
    for name in KINDS:
        assert found[name].attempt == 1, name
        assert not source or found[name].error_source == source, found[name]
        assert "so" in found[name].reason
        assert "message was not written" not in str(found[name].warnings)
        assert cost is None or found[name].cost_usd == cost
