from __future__ import annotations

import asyncio
import itertools
import sys
import time
from typing import cast

import pytest

from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.model.messages import ToolCallMessage, ToolResultMessage
from pytest_browsereval.tools.base import ToolError, tool
from pytest_browsereval.tools.runner import NOTES_LENGTH
from tests.support import PATIENCE_S, PageServer, Visits, until


@tool
async def broken(window: PlaywrightWindow) -> str:
    """Raise what no tool should."""
    raise ZeroDivisionError(window.url)


@tool
async def careless(window: PlaywrightWindow) -> str:
    """Look for what is not there."""
    return list[str]()[window.tab_id]


@tool
async def choosy(window: PlaywrightWindow) -> str:
    """Refuse."""
    raise ToolError(f"Not on {window.tab_id}.")


@tool
async def garbled(window: PlaywrightWindow) -> str:
    """Say what the page says."""
    return str(await window.page.evaluate("'half: \\ud800'"))


@tool
async def silent(window: PlaywrightWindow) -> str:
    """Forget to answer."""
    return cast("str", await window.page.evaluate("null"))


@tool
async def leaving(window: PlaywrightWindow) -> str:
    """Leave."""
    sys.exit(window.tab_id + 1)


@tool
async def interrupting(window: PlaywrightWindow) -> str:
    """Interrupt."""
    raise KeyboardInterrupt(window.tab_id)


@tool
async def giving_up(window: PlaywrightWindow) -> str:
    """Await what somebody else has cancelled."""
    waiting: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    waiting.cancel(f"in {window.tab_id}")
    return await waiting


@tool
async def endless(window: PlaywrightWindow) -> str:
    """Never return."""
    await asyncio.Event().wait()
    return window.url


@tool
async def timed(window: PlaywrightWindow) -> str:
    """Tell when it ran."""
    began = time.perf_counter()
    await window.page.evaluate("new Promise((go) => setTimeout(go, 50))")
    return f"{began} {time.perf_counter()}"


def test_a_tool_that_raises_becomes_a_refusal_and_a_warning(visit: Visits) -> None:
    """An agent never sees an exception; a reader of the report does."""
    opened = visit(tools=(broken, careless, choosy))
    assert opened.refusal("broken") == opened.window.url
    assert opened.refusal("careless") == "list index out of range"
    assert [(warning.source, warning.message) for warning in opened.capture.warnings] == [
        (ErrorSource.TOOL, f"broken raised ZeroDivisionError: {opened.window.url}"),
        (ErrorSource.TOOL, "careless raised IndexError: list index out of range"),
    ]
    assert opened.refusal("choosy") == "Not on 1."


def test_a_tool_ends_neither_the_loop_nor_the_attempt(visit: Visits) -> None:
    """``sys.exit()`` in a tool and a cancellation of its own making are errors of the tool."""
    opened = visit(tools=(leaving, interrupting, giving_up))
    assert opened.refusal("leaving") == "SystemExit(2)"
    assert opened.refusal("interrupting") == "KeyboardInterrupt(1)"
    assert opened.refusal("giving_up") == "CancelledError('in 1')"
    assert [warning.source for warning in opened.capture.warnings] == [ErrorSource.TOOL] * 3


def test_a_tool_says_text_that_can_be_written(visit: Visits) -> None:
    """Half a character is replaced; what is no text is an error of the tool."""
    opened = visit(tools=(garbled, silent))
    assert opened.output("garbled").startswith("half: \N{REPLACEMENT CHARACTER}")
    assert opened.refusal("silent") == "it returned None, which is not a string"


def test_a_tool_that_never_returns_ends_with_its_limit(visit: Visits) -> None:
    """The limit follows the action's; the window works on."""
    opened = visit(tools=(endless, choosy))
    opened.limit(action_s=1.0, load_s=-1.8)
    assert opened.refusal("endless") == "endless took longer than 1.2 s: the page does not react."
    opened.limit(action_s=PATIENCE_S, load_s=PATIENCE_S)
    assert opened.refusal("choosy") == "Not on 1."


def test_parallel_calls_run_one_after_another(visit: Visits) -> None:
    """A model's parallel calls do not act in the page at the same time, and each has its own id."""
    opened = visit(tools=(timed,))

    async def three() -> list[str]:
        results = await asyncio.gather(*(opened.tools.call("timed") for _ in range(3)))
        return [result.output for result in results]

    spans = sorted(tuple(map(float, output.split())) for output in opened.run(three()))
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(spans))
    calls = [message.tool_call_id for message in opened.logged(ToolCallMessage)]
    results = [message.tool_call_id for message in opened.logged(ToolResultMessage)]
    assert sorted(calls) == sorted(results) == ["call-1", "call-2", "call-3"]


@pytest.mark.slow
def test_a_page_that_loops_for_ever_costs_calls_not_the_attempt(visit: Visits) -> None:
    """Calls in it fail within their limits; navigating away gives the tab a new page."""
    opened = visit("<button onclick='for(;;);'>loop</button>")
    assert opened.refusal("click", target="button") == (
        "The page did not react in time to what was done to button."
    )
    opened.limit(action_s=1.0, load_s=-1.3)
    assert "press_key took longer than" in opened.refusal("press_key", key="a")
    opened.limit(action_s=PATIENCE_S, load_s=PATIENCE_S, title_s=0.2)
    assert opened.output("list_tabs").startswith("1: '(not known: the page did not react in time)' ")
    opened.limit(title_s=PATIENCE_S)
    said = opened.output("reload")
    assert said == f"Reloaded {opened.window.url}, titled 'Page'."
    assert opened.window.tab_id == 1
    assert opened.output("press_key", key="a").startswith("Pressed a.")


def test_a_crashed_page_is_told_and_loaded_again(visit: Visits) -> None:
    """The crash is a readable result and a warning of the window, never the attempt's end."""
    opened = visit("<button>go</button>")

    async def crash() -> None:
        session = await opened.window.context.new_cdp_session(opened.window.page)
        asyncio.ensure_future(session.send("Page.crash")).add_done_callback(lambda task: task.exception())
        await until(lambda: opened.window.warnings)

    opened.run(crash())
    said = opened.refusal("click", target="button")
    assert said.startswith("The page has crashed. Call reload or navigate to load it again.")
    assert opened.output("reload") == f"Reloaded {opened.window.url}, titled 'Page'."
    assert opened.output("click", target="button") == "Clicked button."


def test_a_cancelled_call_leaves_nothing_under_way(visit: Visits) -> None:
    """The attempt's time is up in the middle of a call: the call ends, and the window can be closed."""
    opened = visit()

    async def cancel() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(opened.tools.call("wait", {"seconds": 30}), 0.1)
        await until(lambda: not opened.window._dialogs._under_way)

    opened.run(cancel())
    assert opened.output("wait", seconds=0) == "Waited 0 s."


def test_notes_are_capped(visit: Visits, pages: PageServer) -> None:
    """A page cannot flood the agent with what happens beside its calls."""
    pages.page("/popup", "<title>" + "long title " * 50 + "</title>")
    opened = visit("<button onclick='for (let i = 0; i < 12; i++) window.open(\"/popup?\" + i)'>go</button>")
    said = opened.output("click", target="button")
    said += opened.output("wait", seconds=0.3)
    assert "A new tab opened: tab 2 'long title long title" in said
    assert len(said) < 2 * NOTES_LENGTH + 200
