from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_browsereval.errors import ErrorSource, Fault, LimitReached, TerminationReason
from pytest_browsereval.features.function_agent.agent import FunctionConfig
from pytest_browsereval.model.results import AgentResult
from tests.agents.desk import Desk, MakeDesk


def write(folder: Path, name: str, code: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.py").write_text(dedent(code), encoding="utf-8")


def run(desk: Desk, function: str, **options: Any) -> AgentResult:
    config = FunctionConfig(function=function, options=options)
    config.preflight(desk.base_dir)

    async def course() -> AgentResult:
        return await config.build(desk.context(config)).execute()

    return asyncio.run(course())


def test_an_async_function_gets_the_context(desk: Desk) -> None:
    """It calls tools with await, and what it returns is the answer."""
    write(
        desk.base_dir,
        "fn_async",
        """
        async def solve(context):
            await context.tools.call("click", {"target": "button Buy"})
            page = await context.tools.call("snapshot")
            return f"{context.task.query} {context.config.options['greeting']} {page.output}"
        """,
    )
    result = run(desk, "fn_async:solve", greeting="hello")
    assert result.final_answer == "Buy it. hello button Buy\nclicked button Buy"
    assert desk.called == ["click", "snapshot"]


def test_a_plain_function_runs_in_a_thread_of_its_own(desk: Desk) -> None:
    """It calls the same tools without await, and does not hold up the loop."""
    write(
        desk.base_dir,
        "fn_sync",
        """
        import threading
        def solve(context):
            assert threading.current_thread() is not threading.main_thread()
            assert threading.current_thread().daemon
            result = context.tools.call("click", {"target": "button Buy"})
            context.log_assistant("I clicked.")
            context.add_warning("just so")
            return f"{result.ok} {context.url} {context.tab_id} {context.window_id} {context.task.query_id}"
        """,
    )
    result = run(desk, "fn_sync:solve")
    assert result.final_answer == "True http://shop.test/ 1 7 row"
    assert (desk.said, desk.warned) == (["I clicked."], "just so")


def test_the_answer_of_done_counts_where_nothing_is_returned(desk: Desk) -> None:
    """A callable may finish with the tool, as a model does."""
    write(
        desk.base_dir,
        "fn_done",
        """
        def solve(context):
            context.tools.call("done", {"answer": "by the tool"})
            assert context.tools.is_done and context.tools.answer == "by the tool"
        def silent(context):
            pass
        """,
    )
    assert run(desk, "fn_done:solve").final_answer == "by the tool"
    assert run(desk, "fn_done:silent").final_answer is None


def test_methods_partials_and_objects_are_callables(desk: Desk) -> None:
    """Dotted names are followed, and async objects are awaited."""
    write(
        desk.base_dir,
        "fn_kinds",
        """
        import functools
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
        """,
    )
    for name, answer in (("Agents.solve", "method"), ("solver", "object"), ("partial", "partial")):
        assert run(desk, f"fn_kinds:{name}").final_answer == answer


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_an_exception_is_a_fault_with_its_place(make_desk: MakeDesk, kind: str) -> None:
    """The message has callable, exception, file and line; the attempt is errored, not failed."""
    desk = make_desk()
    name = "fn_raises_" + kind.replace(" ", "_")
    write(desk.base_dir, name, f"{kind} solve(context):\n    x = 1\n    raise ValueError('no price')\n")
    told = rf"^{name}:solve raised ValueError: no price, at {name}\.py:3$"
    with pytest.raises(Fault, match=told) as caught:
        run(desk, f"{name}:solve")
    assert caught.value.source is ErrorSource.AGENT


def test_a_program_s_exit_is_a_fault(desk: Desk) -> None:
    """A callable that exits ends its attempt, not the run."""
    write(
        desk.base_dir,
        "fn_exits",
        """
        import asyncio, sys
        def solve(context):
            sys.exit(3)
        async def solve_async(context):
            sys.exit(3)
        async def cancels(context):
            raise asyncio.CancelledError
        def stops(context):
            next(iter(()))
        """,
    )
    for name in ("solve", "solve_async"):
        with pytest.raises(Fault, match="raised SystemExit: 3"):
            run(desk, f"fn_exits:{name}")
    with pytest.raises(Fault, match="raised CancelledError"):
        run(desk, "fn_exits:cancels")
    with pytest.raises(Fault, match="StopIteration"):
        run(desk, "fn_exits:stops")


def test_any_other_value_is_a_fault(desk: Desk) -> None:
    """Numbers, dictionaries and forgotten coroutines are told with what is allowed; a result counts."""
    write(
        desk.base_dir,
        "fn_returns",
        """
        from pytest_browsereval import AgentResult, TerminationReason
        async def wait_for_it():
            pass
        def number(context):
            return 42
        def mapping(context):
            return {"answer": "x"}
        def forgotten(context):
            return wait_for_it()
        async def solve(context):
            return AgentResult("x", TerminationReason.MAX_STEPS)
        """,
    )
    for name in ("number", "mapping", "forgotten"):
        with pytest.raises(Fault, match="allowed are a string, None and an AgentResult"):
            run(desk, f"fn_returns:{name}")
    assert run(desk, "fn_returns:solve") == AgentResult("x", TerminationReason.MAX_STEPS)


@pytest.mark.parametrize("wrapped", [False, True])
def test_limits_and_faults_pass_through(make_desk: MakeDesk, wrapped: bool) -> None:  # noqa: FBT001 a table
    """What ends an attempt is seen, even through an exception that the callable makes of it."""
    name = f"fn_limits_{wrapped}"
    body = "raise RuntimeError('gave up') from error" if wrapped else "raise"
    code = f"""
        def solve(context):
            try:
                while True:
                    context.tools.call("click", {{"target": "button Buy"}})
            except Exception as error:
                {body}
        """
    limited = make_desk(max_steps=3)
    write(limited.base_dir, name, code)
    with pytest.raises(LimitReached) as caught:
        run(limited, f"{name}:solve")
    assert caught.value.reason is TerminationReason.MAX_STEPS
    dying = make_desk()
    dying.window.dies_at = "button Buy"
    with pytest.raises(Fault, match="the browser died") as died:
        run(dying, f"{name}:solve")
    assert died.value.source is ErrorSource.BROWSER


def test_usage_that_a_callable_tells_is_counted_and_limited(make_desk: MakeDesk) -> None:
    """A callable with a model of its own can be held to the limit of tokens."""
    desk = make_desk(limits={"max_tokens": 100})
    write(
        desk.base_dir,
        "fn_spends",
        """
        from pytest_browsereval.model.usage import Usage
        def solve(context):
            while True:
                context.log_assistant("hm", usage=Usage(input_tokens=40, output_tokens=1, requests=1))
        """,
    )
    with pytest.raises(LimitReached, match=r"limits\.max_tokens is 100; 123 were used"):
        run(desk, "fn_spends:solve")
    assert desk.capture.usage.requests == 3


def test_a_cancelled_attempt_ends_its_thread(desk: Desk) -> None:
    """A callable that goes on after every error is ended at its next call."""
    write(
        desk.base_dir,
        "fn_stubborn",
        """
        import threading
        me, called = [], threading.Event()
        def solve(context):
            me.append(threading.current_thread())
            called.set()
            while True:
                try:
                    context.tools.call("wait", {"seconds": 60})
                except Exception:
                    pass
        """,
    )
    config = FunctionConfig(function="fn_stubborn:solve")

    async def course() -> bool:
        context = desk.context(config)
        task = asyncio.ensure_future(config.build(context).execute())
        while not desk.called:  # noqa: ASYNC110 the callable is a thread
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        import fn_stubborn  # type: ignore[import-not-found]  # written above

        thread = fn_stubborn.me[0]
        assert isinstance(thread, threading.Thread)
        await asyncio.to_thread(thread.join, 10)
        return thread.is_alive()

    assert not asyncio.run(course())
    assert desk.called == ["wait"]


def test_what_names_no_callable_is_refused(subtests: pytest.Subtests) -> None:
    """The form is module:callable; a path is none."""
    for given in ["solve", "my_agent:", ":solve", "my-agent:solve", "a b:c", "../x:y"]:
        with subtests.test(given=given), pytest.raises(ValidationError, match="pattern"):
            FunctionConfig(function=given)
