"""Agents that know no end: limits of steps and time hold, and code that blocks the loop is found."""

from __future__ import annotations

from typing import Any

import pytest

from tests.hooks.launched import FUNCTION, go, metadata, verdicts, write_agent
from tests.hooks.small_evals import Evals, row

AGENTS = """
async def solve(context):
    name = begins(context)
    if name == "waits":
        await asyncio.sleep(1000)
    if name == "steps":
        while True:
            await context.tools.call("read_text")
    if name == "deaf":
        while True:
            try:
                await asyncio.sleep(1000)
            except asyncio.CancelledError:
                pass
    if name == "exits":
        sys.exit(3)
    if name == "skips":
        pytest.skip("not today")
    return "right"

def block(context):
    name = begins(context)
    if name == "sleeps":
        time.sleep(1000)
    if name == "steps":
        while True:
            context.tools.call("read_text")
    if name == "exits":
        sys.exit(3)
    return "right"
"""


def hurried(evals: Evals, *names: str, **keys: Any) -> str:
    """Write an eval whose limit is a second, which nothing in it has to be done in, and return its file."""
    evals.write_rows(*(row(name) for name in names), name="hurried.jsonl")
    return evals.write_config(
        "hurried.eval.yaml", dataset="hurried.jsonl", limits={"timeout_ms": 1000}, **keys
    ).name


@pytest.mark.slow
def test_limits_hold_for_every_async_agent(evals: Evals) -> None:
    """A limit is a reason to stop, and graders judge; agents that are deaf to it are left behind."""
    write_agent(evals, AGENTS)
    evals.write_rows(*(row(name) for name in ("steps", "exits", "skips", "fine")))
    evals.write_config(agent=FUNCTION, lanes=6, limits={"max_steps": 3})
    code, output = go(evals, hurried(evals, "waits", "deaf", agent=FUNCTION, lanes=6))
    assert code == 1, output
    assert verdicts(evals.summary("hurried")) == {"waits": "failed (timeout)", "deaf": "failed (timeout)"}
    assert verdicts(evals.summary()) == {
        "steps": "failed (max_steps)",
        "exits": "errored (agent)",
        "skips": "errored (agent)",
        "fine": "passed",
    }
    assert "3 failed, 1 passed, 2 errors" in output
    (error,) = metadata(evals.run_folder("hurried"), "deaf").errors
    assert "did not end when it was cancelled" in error.message


@pytest.mark.slow
def test_limits_hold_for_synchronous_agents(evals: Evals) -> None:
    """A thread that sleeps for ever is left behind at its limit, and pytest ends."""
    write_agent(evals, AGENTS)
    evals.write_rows(*(row(name) for name in ("steps", "exits", "fine")))
    agent = {**FUNCTION, "function": "my_agent:block"}
    evals.write_config(agent=agent, lanes=4, limits={"max_steps": 3})
    code, output = go(evals, hurried(evals, "sleeps", agent=agent))
    assert code == 1, output
    assert verdicts(evals.summary("hurried")) == {"sleeps": "failed (timeout)"}
    assert verdicts(evals.summary()) == {
        "steps": "failed (max_steps)",
        "exits": "errored (agent)",
        "fine": "passed",
    }


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
    owners = {
        "agent": "agent",
        "task": "agent",
        "tool": "tool",
        "observe": "grader",
        "grade": "grader",
        "hook": "harness",
    }
    evals.write_rows(*(row(name, graders=["judge"]) for name in (*owners, "fine")))
    evals.write_config(agent=FUNCTION, toolkits=["holding"], limits={"stuck_s": 3})
    code, output = go(evals)
    assert code == 1, output
    wanted = {name: f"errored ({source})" for name, source in owners.items()}
    assert verdicts(evals.summary()) == {**wanted, "fine": "passed"}
    line = 1 + (evals.path / "conftest.py").read_text().splitlines().index("    time.sleep(600)")
    assert f"conftest.py:{line}: time.sleep(600)" in output
    assert "limits.stuck_s" in output


LONG_ANSWERS = r"""
SIGNS = {"letters": "x", "dots": ".", "marks": "\u2026", "halves": "\ud83d"}

async def solve(context):
    return "right " + SIGNS[begins(context)] * 10_000_000
"""


@pytest.mark.slow
def test_a_long_answer_holds_up_no_lane(evals: Evals) -> None:
    """Megabytes of marks of cuts, or of half signs, are searched for secrets while the loop goes on."""
    write_agent(evals, LONG_ANSWERS)
    names = ("letters", "dots", "marks", "halves")
    evals.write_rows(*(row(name, graders=[{"type": "answer", "match": "includes"}]) for name in names))
    evals.write_config(agent=FUNCTION, limits={"stuck_s": 5})
    summary = evals.run_process("shop.eval.yaml").summary
    assert verdicts(summary) == dict.fromkeys(names, "passed"), summary
