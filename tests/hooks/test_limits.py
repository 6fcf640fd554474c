"""Agents that know no end: limits of steps and time hold, and code that blocks the loop is found."""

from __future__ import annotations

import pytest

from tests.hooks.launched import FUNCTION, go, metadata, verdicts, write_agent
from tests.hooks.small_evals import Evals, row

AGENTS = """
async def solve(context):
    name = begins(context)
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            if name == "waits":
                raise

def block(context):
    begins(context)
    time.sleep(1000)
"""


@pytest.mark.slow
def test_agents_that_hear_no_limit_are_left_behind(evals: Evals) -> None:
    """A coroutine and a thread alike: the limit is a reason to stop, graders judge, and pytest ends."""
    write_agent(evals, AGENTS)
    limits = {"timeout_ms": 1000}
    evals.write([row("waits"), row("deaf")], agent=FUNCTION, lanes=2, limits=limits)
    evals.write_rows(row("sleeps"), name="thread.jsonl")
    agent = {**FUNCTION, "function": "my_agent:block"}
    evals.write_config("thread.eval.yaml", dataset="thread.jsonl", agent=agent, limits=limits)
    code, output = go(evals, "thread.eval.yaml")
    assert code == 1, output
    found = verdicts(evals.summary()) | verdicts(evals.summary("thread"))
    assert found == dict.fromkeys(("waits", "deaf", "sleeps"), "failed (timeout)")
    (error,) = metadata(evals.run_folder(), "deaf").errors
    assert "did not end when it was cancelled" in error.message


BLOCKED_PLACES = """
import asyncio, time
from typing import Literal
from pytest_browsereval import GraderConfig, GraderResult, ToolkitConfig, Toolkit, Verdict, tool

async def block():
    time.sleep(600)

async def solve(context):
    name = context.task.query_id
    if name == "agent":
        await block()
    if name == "task":
        await asyncio.create_task(block())
    if name == "tool":
        await context.tools.call("hold")
    await context.tools.call("list_tabs")
    return "right"

@tool
async def hold(window) -> str:
    "Hold."
    await block()

class Holding(ToolkitConfig):
    type: Literal["holding"] = "holding"

    def build(self):
        return Toolkit("holding", "Hold.", (hold,), needs_page=False)

class Judge(GraderConfig):
    type: Literal["judge"] = "judge"

    async def observe(self, window, task, site_urls):
        if task.query_id == "observe":
            await block()

    async def grade(self, recorded):
        if recorded.task.query_id == "grade":
            await block()
        return GraderResult(grader=self.label, verdict=Verdict.PASSED, score=1)

def pytest_browsereval_register(registry):
    registry.register(Judge)
    registry.register(Holding)

def pytest_browsereval_tool_call(name, task):
    return block() if task.query_id == "hook" else None
"""


@pytest.mark.slow
def test_code_that_blocks_the_loop_has_an_owner(evals: Evals) -> None:
    """An agent, also in a task of its own, a tool, a grader or a hook; the line and the ways out are told."""
    evals.pytester.makeconftest(BLOCKED_PLACES)
    evals.pytester.makepyfile(my_agent="from conftest import solve")
    owners = {"agent": "agent", "task": "agent", "tool": "tool", "observe": "grader", "grade": "grader"}
    owners["hook"] = "harness"
    evals.write_rows(*(row(name, graders=["judge"]) for name in (*owners, "fine")))
    evals.write_config(agent=FUNCTION, toolkits=["holding"], limits={"stuck_s": 3})
    code, output = go(evals)
    assert code == 1, output
    wanted = {name: f"errored ({source})" for name, source in owners.items()}
    assert verdicts(evals.summary()) == {**wanted, "fine": "passed"}
    line = 1 + (evals.path / "conftest.py").read_text().splitlines().index("    time.sleep(600)")
    assert f"conftest.py:{line}: time.sleep(600)" in output
    assert "limits.stuck_s" in output
