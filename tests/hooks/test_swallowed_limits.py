"""A limit holds also for agents that catch it: it ends the attempt, and the record names it."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.testing import ScriptedModel, calls, done
from pytest_browsereval.testing import call as to_call
from tests.hooks.launched import FUNCTION, write_agent
from tests.hooks.small_evals import Evals, row

AGENTS = """
from pytest_browsereval import (
    AgentConfig, AgentEvaluator, AgentResult, LLMConfig, LimitReached, Usage, chat_client
)
from dataclasses import replace
from typing import Literal

MODEL = LLMConfig(model="m", base_url=URL, prices={"input_per_mtok": 1_000_000, "output_per_mtok": 0})
PAID = Usage(requests=1, input_tokens=1, cost_usd=1)

async def ask(context):
    reply = await chat_client(MODEL).complete([{"role": "user", "content": "?"}])
    context.capture.spend(reply.usage)

async def again(work, kind=Exception, tries=12):
    for _ in range(tries):
        try:
            await work()
        except kind:
            pass

async def solve(context):
    name = begins(context)
    look = lambda: context.tools.call("list_tabs")
    if name == "model":
        await again(lambda: ask(context))
    if name == "own_client":
        async def spend():
            await asyncio.sleep(0)
            context.capture.spend(PAID)
        await again(spend)
    if name == "never_waits":
        for _ in range(12):
            try:
                context.capture.spend(PAID)
            except LimitReached:
                pass
    if name == "steps":
        await again(look)
        await again(lambda: context.tools.call("done", {"answer": "right"}))
    if name == "steps_then_model":
        await again(look)
        await again(lambda: ask(context))
    if name == "endless":
        await again(look, tries=10**9)
    if name == "deaf":
        await again(look, BaseException, tries=10**9)
    if name == "wraps":
        try:
            await again(look, ZeroDivisionError)
        except LimitReached:
            raise RuntimeError("no steps are left") from None
    if name == "task":
        await asyncio.gather(*(asyncio.ensure_future(again(look)) for _ in range(3)))
    if name == "polite":
        try:
            await again(look, ZeroDivisionError)
        except LimitReached as limit:
            return AgentResult("right", limit.reason, note="my words")
    if name == "part":  # an orchestrator that takes each limit for its executor's
        for number in range(9):
            capture = context.capture.nest(f"executor-{number}")
            part = context.tools.nest(capture, max_steps=2)
            try:
                for _ in range(3):
                    await part.call("list_tabs")
            except LimitReached:
                pass
    if name == "done_before":
        await context.tools.call("done", {"answer": "right"})
        await again(lambda: ask(context))
    return "right"

def block(context):
    begins(context)
    for _ in range(10**9):
        try:
            context.tools.call("list_tabs")
        except Exception:
            pass
    return "right"

def block_by_usage(context):
    begins(context)
    for _ in range(12):
        try:
            context.log_assistant("hm", usage=PAID)
        except BaseException:
            pass
    return "right"
"""

STEPS = ("steps", "steps_then_model", "endless", "deaf", "wraps", "task", "polite", "part")
MONEY = ("model", "own_client", "never_waits")


@pytest.mark.slow
def test_an_agent_that_catches_a_limit_gets_nothing_more(evals: Evals) -> None:
    """It has no further call, request or answer; the limit is the reason; a row in another lane passes."""
    with ScriptedModel(lambda _: done("7").costing(1, 0)) as server:
        write_agent(evals, f"URL = {server.base_url!r}\n{AGENTS}")
        evals.write_rows(*(row(name) for name in (*STEPS, *MONEY, "done_before", "fine")))
        limits = {"max_steps": 3, "max_cost_usd": 2}
        evals.write_config(agent=FUNCTION, lanes=3, limits=limits, budget={"max_cost_usd": 100})
        run = evals.run("shop.eval.yaml")
        assert len(server.requests) == 4
    run.assert_outcomes(passed=2, failed=len(STEPS) + len(MONEY))
    for name in STEPS:
        attempt = run.attempt(name)
        assert (attempt.termination_reason, attempt.total_steps) == ("max_steps", 3), attempt
        assert attempt.limit.startswith("limits.max_steps is 3; all were used"), attempt
        assert attempt.reason.startswith("stopped (limits.max_steps is 3"), attempt
        assert (attempt.final_answer, attempt.cost_usd) == (None, 0), attempt
    assert "is still running" in run.attempt("deaf").limit
    for name in (*MONEY, "done_before"):
        attempt = run.attempt(name)
        assert attempt.termination_reason == "budget", attempt
        assert attempt.limit.startswith("limits.max_cost_usd is 2; 2.0000 was spent"), attempt
        assert name != "model" or attempt.cost_usd == 2, attempt
    assert run.attempt("done_before").final_answer == "right"


LATE = """
from pytest_browsereval import LimitReached, Usage

PAID, UNKNOWN = Usage(requests=1, cost_usd=1), Usage(requests=1)

async def solve(context):
    name = begins(context)
    if name in ("returns", "list_tabs", "done"):
        time.sleep(1.05)
    try:
        if name in ("list_tabs", "done"):
            await context.tools.call(name, {"answer": "right"} if name == "done" else {})
        for usage in {"first": (UNKNOWN, PAID, PAID), "last": (PAID, UNKNOWN, PAID)}.get(name, ()):
            context.capture.spend(usage)
        if name == "part":
            context.capture.spend(UNKNOWN)
            for _ in range(2):
                context.capture.nest("executor").spend(PAID)
    except LimitReached:
        pass
    return "right"
"""


@pytest.mark.slow
def test_limits_hold_where_nothing_is_cancelled_or_a_cost_is_unknown(evals: Evals) -> None:
    """Code that blocks the loop is out of time all the same, and what is known of the cost is limited."""
    write_agent(evals, LATE)
    cases: tuple[tuple[tuple[str, ...], dict[str, float], str, str], ...] = (
        (("returns", "list_tabs", "done"), {"timeout_ms": 1000}, "timeout", "limits.timeout_ms is 1000"),
        (("first", "last", "part"), {"max_cost_usd": 2}, "budget", "limits.max_cost_usd is 2; at least 2.0"),
    )
    for names, limits, reason, said in cases:
        run = evals.play([*map(row, names)], agent=FUNCTION, limits=limits)
        run.assert_outcomes(failed=len(names))
        for name in names:
            attempt = run.attempt(name)
            assert (attempt.termination_reason, attempt.total_steps) == (reason, 0), attempt
            assert attempt.limit.startswith(said), attempt
            assert attempt.final_answer is None, attempt


PAGE = "data:text/html,<h1>Cart</h1>"
THANKED: dict[str, Any] = {"graders": ["page_state"], "checks": [{"role": "heading", "name": "Thank you"}]}

STAYS = """
from pytest_browsereval import LimitReached, Usage

async def show(context, text):
    await context.window.page.set_content(f"<h1>{text}</h1>")

async def solve(context):
    name = begins(context)
    await show(context, "Thank you" if name in ("done", "tidies") else "Cart")
    try:
        if name in ("steps", "done"):
            for _ in range(9):
                await context.tools.call("list_tabs")
        if name == "money":
            context.capture.spend(Usage(requests=1, cost_usd=9))
        await asyncio.sleep(300)
    except (asyncio.CancelledError, LimitReached):
        if name == "done":
            return "right"
        await asyncio.sleep(1)
        if name == "tidies":
            raise
        await show(context, "Cart" if name == "wrong" else "Thank you")
        if name == "raises":
            raise ValueError("too late")
        if name == "deaf":
            await asyncio.sleep(300)
    return "right"
"""


@pytest.mark.slow
def test_what_an_agent_does_with_the_page_after_its_limit_is_no_pass(evals: Evals) -> None:
    """It drives the page itself, which no tool refuses: nobody knows what was there in time."""
    write_agent(evals, STAYS)
    late, in_time = ("time", "steps", "money", "raises", "deaf"), ("done", "tidies")
    rows = [row(name, start_url=PAGE, **THANKED) for name in (*late, *in_time, "wrong")]
    limits = {"timeout_ms": 4000, "max_steps": 2, "max_cost_usd": 5}
    run = evals.play(rows, agent=FUNCTION, limits=limits, lanes=4, browser="playwright")
    run.assert_outcomes(errors=len(late), passed=len(in_time), failed=1)
    for name in late:
        attempt = run.attempt(name)
        assert (attempt.error_source, attempt.went_on_s > 0.5) == ("agent", True), attempt
        assert attempt.reason.startswith("the page is right, but perhaps only because the agent"), attempt
        assert attempt.limit in attempt.reason
    assert "limits.timeout_ms is 4000; it caught that and continued for" in run.attempt("time").limit
    assert all(run.attempt(name).went_on_s == 0 for name in in_time)
    assert run.attempt("wrong").limit in run.attempt("wrong").reason
    again = evals.run(f"--eval-regrade={run.folder}")
    again.assert_outcomes(errors=len(late), passed=len(in_time), failed=1)


LEAVES = """
from pytest_browsereval import LimitReached

async def solve(context):
    name = begins(context)
    async def later(seconds=1.0):
        await asyncio.sleep(seconds)
        await context.window.page.set_content("<h1>Thank you</h1>")
        await asyncio.sleep(300)
    if name in ("joined", "returns"):
        await context.window.page.set_content("<h1>Thank you</h1>")
    task = asyncio.create_task(later(0 if name == "returns" else 1))
    try:
        if name == "steps":
            for _ in range(9):
                await context.tools.call("list_tabs")
        if name == "shielded":
            await asyncio.shield(task)
        if name == "spawned":
            await asyncio.sleep(300)
        if name == "joined":
            await asyncio.gather(task)
    finally:
        if name == "spawned":
            asyncio.create_task(later(0))
    return "right"
"""


@pytest.mark.slow
def test_what_a_task_does_after_the_limit_is_no_pass(evals: Evals) -> None:
    """It was started by the agent, and the end of that does not end it; without a limit it is a warning."""
    write_agent(evals, LEAVES)
    late = ("steps", "shielded", "spawned")
    rows = [row(name, start_url=PAGE, **THANKED) for name in (*late, "joined", "returns")]
    limits = {"timeout_ms": 4000, "max_steps": 2}
    run = evals.play(rows, agent=FUNCTION, limits=limits, lanes=3, browser="playwright")
    for name in late:
        attempt = run.attempt(name)
        assert attempt.limit.partition("; a task that it started (my_agent.py:")[2], attempt
        assert attempt.went_on_s >= 0.5, attempt
        assert attempt.verdict != "passed", attempt
    assert run.attempt("shielded").error_source == "agent"
    assert (run.attempt("joined").verdict, run.attempt("joined").went_on_s) == ("passed", 0)
    (warning,) = run.attempt("returns").warnings
    assert warning.message.startswith("the agent has ended, but a task that it started (my_agent.py:")


def test_a_thread_that_catches_a_limit_gets_nothing_more(evals: Evals) -> None:
    """Calls are refused, usage is counted, and the thread is given up."""
    write_agent(evals, f"URL = 'http://127.0.0.1:9'\n{AGENTS}")
    evals.write_rows(row("a"))
    for function, reason in (("block", "max_steps"), ("block_by_usage", "budget")):
        evals.write_config(
            agent={"type": "function", "function": f"my_agent:{function}"},
            limits={"max_steps": 3, "max_tokens": 2},
        )
        run = evals.run("shop.eval.yaml")
        run.assert_outcomes(failed=1)
        attempt = run.attempt("a")
        assert (attempt.termination_reason, attempt.final_answer) == (reason, None), attempt


MEMBERS = """
from typing import Literal
from pytest_browsereval import AgentConfig, AgentEvaluator, AgentResult, LLMConfig, chat_client

class Swallowing(AgentConfig, LLMConfig):
    type: Literal["swallowing"] = "swallowing"

    def build(self, context):
        return Swallower(context, chat_client(self))

class Swallower(AgentEvaluator):
    def __init__(self, context, client):
        self.context, self.client = context, client

    async def execute(self):
        for _ in range(12):
            try:
                reply = await self.client.complete([{"role": "user", "content": "?"}], role="hand")
                self.context.capture.spend(reply.usage)
                await self.context.tools.call("list_tabs")
            except Exception:
                pass
        return AgentResult("right")

def pytest_browsereval_register(registry):
    registry.register(Swallowing)
"""


def test_an_executor_that_catches_a_limit_is_stopped(evals: Evals) -> None:
    """Its own limit ends it, and its report says so; one of the attempt ends the attempt."""
    paid = {"model": "m", "prices": {"input_per_mtok": 1_000_000, "output_per_mtok": 0}}
    free = {"model": "m", "prices": {"input_per_mtok": 0, "output_per_mtok": 0}}
    evals.pytester.makeconftest(MEMBERS)
    evals.write_rows(row("a"))

    def run(**limits: float) -> tuple[TaskMetadata, str, int]:
        lead = ScriptedModel([calls(to_call("delegate", instruction="go")), done("right")])
        hand = ScriptedModel(lambda _: done("7").costing(1, 0))
        with lead, hand:
            executor = {"type": "swallowing", "base_url": hand.base_url, **paid}
            orchestrator = {"base_url": lead.base_url, **free}
            agent = {"type": "orchestrator-executor", "orchestrator": orchestrator, "executor": executor}
            evals.write_config(agent={**agent, "max_steps_per_delegation": 2}, limits=limits)
            ran = evals.run("shop.eval.yaml")
            (record,) = evals.run_folder().glob("tasks/a/*/*/attempt-1/executors/*.json")
            return ran.attempt("a"), record.read_text(), len(hand.requests)

    attempt, record, requests = run(max_steps=9)
    assert (attempt.verdict, attempt.limit, requests) == ("passed", "", 3)
    assert '"max_steps"' in record
    assert "Stopped: 2 steps were allowed; all were used" in record
    for limits, reason in (({"max_steps": 1}, "max_steps"), ({"max_cost_usd": 2}, "budget")):
        attempt, record, requests = run(**limits)
        assert (attempt.verdict, attempt.termination_reason, requests) == ("failed", reason, 2)
        assert attempt.limit
