from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pydantic import ValidationError

from pytest_browsereval.errors import ErrorSource, Fault, LimitReached, TerminationReason
from pytest_browsereval.features.function_agent.agent import FunctionConfig
from pytest_browsereval.model.results import AgentResult
from tests.agents.desk import Desk, MakeDesk

AGENTS = """
import asyncio, functools, sys, threading
from pytest_browsereval import AgentResult, TerminationReason
from pytest_browsereval.model.usage import Usage

async def asks(context):
    await context.tools.call("click", {"target": "button Buy"})
    page = await context.tools.call("snapshot")
    return f"{context.task.query} {context.config.options['greeting']} {page.output}"

def plain(context):
    assert threading.current_thread() is not threading.main_thread()
    assert threading.current_thread().daemon
    result = context.tools.call("click", {"target": "button Buy"})
    context.log_assistant("I clicked.")
    context.add_warning("just so")
    return f"{result.ok} {context.url} {context.tab_id} {context.window_id} {context.task.query_id}"

def finishes(context):
    context.tools.call("done", {"answer": "by the tool"})
    assert context.tools.is_done and context.tools.answer == "by the tool"

def silent(context):
    pass

class Agents:
    @staticmethod
    async def solve(context):
        return "method"

class Solver:
    async def __call__(self, context):
        return "object"

solver = Solver()

async def two(answer, context):
    return answer

partial = functools.partial(two, "partial")

def raises(context): raise ValueError('no price')
async def raises_too(context): raise ValueError('no price')

def leaves(context): sys.exit(3)
async def leaves_too(context): sys.exit(3)
async def cancels(context): raise asyncio.CancelledError
def stops(context): next(iter(()))

def number(context): return 42
def mapping(context): return {"answer": "x"}
def forgotten(context): return asks(context)
async def result(context): return AgentResult("x", TerminationReason.MAX_STEPS)

def clicks(context):
    while True:
        context.tools.call("click", {"target": "button Buy"})

def wraps(context):
    try:
        clicks(context)
    except Exception as error:
        raise RuntimeError('gave up') from error

def spends(context):
    while True:
        context.log_assistant("hm", usage=Usage(input_tokens=40, output_tokens=1, requests=1))

me = []

def stubborn(context):
    me.append(threading.current_thread())
    while True:
        try:
            context.tools.call("wait", {"seconds": 60})
        except Exception:
            pass
"""


def write(folder: Path) -> str:
    """Write the agents as a module of a name of its own; modules of one name are not mixed up."""
    name = f"fn_{uuid4().hex}"
    (folder / f"{name}.py").write_text(AGENTS, encoding="utf-8")
    return name


def run(desk: Desk, function: str, **options: Any) -> AgentResult:
    config = FunctionConfig(function=f"{write(desk.base_dir)}:{function}", options=options)
    config.preflight(desk.base_dir)

    async def course() -> AgentResult:
        return await config.build(desk.context(config)).execute()

    return asyncio.run(course())


def test_an_async_function_gets_the_context(desk: Desk) -> None:
    """It calls tools with await, and what it returns is the answer."""
    result = run(desk, "asks", greeting="hello")
    assert result.final_answer == "Buy it. hello button Buy\nclicked button Buy"
    assert desk.called == ["click", "snapshot"]


def test_a_plain_function_runs_in_a_thread_of_its_own(desk: Desk) -> None:
    """It calls the same tools without await, and does not hold up the loop."""
    assert run(desk, "plain").final_answer == "True http://shop.test/ 1 7 row"
    assert (desk.said, desk.warned) == (["I clicked."], "just so")


def test_the_answer_of_done_counts_where_nothing_is_returned(make_desk: MakeDesk) -> None:
    """A callable may finish with the tool, as a model does."""
    assert run(make_desk(), "finishes").final_answer == "by the tool"
    assert run(make_desk(), "silent").final_answer is None


def test_methods_partials_and_objects_are_callables(desk: Desk) -> None:
    """Dotted names are followed, and async objects are awaited."""
    for name, answer in (("Agents.solve", "method"), ("solver", "object"), ("partial", "partial")):
        assert run(desk, name).final_answer == answer


def test_an_exception_is_a_fault_with_its_place(desk: Desk) -> None:
    """The message has callable, exception, file and line; the attempt is errored, not failed."""
    for name in ("raises", "raises_too"):
        line = 1 + next(n for n, text in enumerate(AGENTS.split("\n")) if f"def {name}(" in text)
        told = rf"^fn_\w+:{name} raised ValueError: no price, at fn_\w+\.py:{line}$"
        with pytest.raises(Fault, match=told) as caught:
            run(desk, name)
        assert caught.value.source is ErrorSource.AGENT


def test_a_program_s_exit_is_a_fault(desk: Desk) -> None:
    """A callable that exits ends its attempt, not the run."""
    for name, told in (
        ("leaves", "raised SystemExit: 3"),
        ("leaves_too", "raised SystemExit: 3"),
        ("cancels", "raised CancelledError"),
        ("stops", "StopIteration"),
    ):
        with pytest.raises(Fault, match=told):
            run(desk, name)


def test_any_other_value_is_a_fault(desk: Desk) -> None:
    """Numbers, dictionaries and forgotten coroutines are told with what is allowed; a result counts."""
    for name in ("number", "mapping", "forgotten"):
        with pytest.raises(Fault, match="allowed are a string, None and an AgentResult"):
            run(desk, name)
    assert run(desk, "result") == AgentResult("x", TerminationReason.MAX_STEPS)


def test_limits_and_faults_pass_through(make_desk: MakeDesk) -> None:
    """What ends an attempt is seen, even through an exception that the callable makes of it."""
    for name in ("clicks", "wraps"):
        with pytest.raises(LimitReached) as caught:
            run(make_desk(max_steps=3), name)
        assert caught.value.reason is TerminationReason.MAX_STEPS
        dying = make_desk()
        dying.window.dies_at = "button Buy"
        with pytest.raises(Fault, match="the browser died") as died:
            run(dying, name)
        assert died.value.source is ErrorSource.BROWSER


def test_usage_that_a_callable_tells_is_counted_and_limited(make_desk: MakeDesk) -> None:
    """A callable with a model of its own can be held to the limit of tokens."""
    desk = make_desk(limits={"max_tokens": 100})
    with pytest.raises(LimitReached, match=r"limits\.max_tokens is 100; 123 were used"):
        run(desk, "spends")
    assert desk.capture.usage.requests == 3


def test_a_cancelled_attempt_ends_its_thread(desk: Desk) -> None:
    """A callable that goes on after every error is ended at its next call."""
    name = write(desk.base_dir)
    config = FunctionConfig(function=f"{name}:stubborn")

    async def course() -> bool:
        task = asyncio.ensure_future(config.build(desk.context(config)).execute())
        while not desk.called:  # noqa: ASYNC110 the callable is a thread
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        thread = sys.modules[name].me[0]
        assert isinstance(thread, threading.Thread)
        await asyncio.to_thread(thread.join, 10)
        return thread.is_alive()

    assert not asyncio.run(course())
    assert desk.called == ["wait"]


def test_what_names_no_callable_is_refused(subtests: pytest.Subtests) -> None:
    """The form is module:callable; a path is none."""
    for given in ["solve", "my_agent:", ":solve", "my-agent:solve", "a b:c", "../x:y"]:
        with (
            subtests.test(given=given),
            pytest.raises(ValidationError, match=r"write module:callable, such as"),
        ):
            FunctionConfig(function=given)
