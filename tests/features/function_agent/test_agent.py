from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from pydantic import ValidationError

from pytest_browsereval.errors import Fault, TerminationReason
from pytest_browsereval.features.function_agent.agent import FunctionConfig
from pytest_browsereval.model.results import AgentResult
from tests.agents.desk import Desk, MakeDesk

AGENTS = """
import functools, threading
from pytest_browsereval import AgentResult, TerminationReason

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
    limits = f"{context.max_steps} {context.timeout_s:g}"
    return f"{result.ok} {context.url} {context.tab_id} {context.window_id} {context.task.query_id} {limits}"

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

def number(context): return 42
def mapping(context): return {"answer": "x"}
def forgotten(context): return asks(context)
async def result(context): return AgentResult("x", TerminationReason.MAX_STEPS)
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
    assert run(desk, "plain").final_answer == "True http://shop.test/ 1 7 row 100 1800"
    assert (desk.said, desk.warned) == (["I clicked."], "just so")


def test_the_answer_of_done_counts_where_nothing_is_returned(make_desk: MakeDesk) -> None:
    """A callable may finish with the tool, as a model does."""
    assert run(make_desk(), "finishes").final_answer == "by the tool"
    assert run(make_desk(), "silent").final_answer is None


def test_methods_partials_and_objects_are_callables(desk: Desk) -> None:
    """Dotted names are followed, and async objects are awaited."""
    for name, answer in (("Agents.solve", "method"), ("solver", "object"), ("partial", "partial")):
        assert run(desk, name).final_answer == answer


def test_any_other_value_is_a_fault(desk: Desk) -> None:
    """Numbers, dictionaries and forgotten coroutines are told with what is allowed; a result counts."""
    for name in ("number", "mapping", "forgotten"):
        with pytest.raises(Fault, match="allowed are a string, None and an AgentResult"):
            run(desk, name)
    assert run(desk, "result") == AgentResult("x", TerminationReason.MAX_STEPS)


def test_what_names_no_callable_is_refused(subtests: pytest.Subtests) -> None:
    """The form is module:callable; a path is none."""
    for given in ["solve", "my_agent:", ":solve", "my-agent:solve", "a b:c", "../x:y"]:
        with (
            subtests.test(given=given),
            pytest.raises(ValidationError, match=r"write module:callable, such as"),
        ):
            FunctionConfig(function=given)
