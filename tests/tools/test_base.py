from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, Field

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.capture.context import CaptureContext, CaptureContextConfig
from pytest_browsereval.errors import ErrorSource, Fault, LimitReached, TerminationReason
from pytest_browsereval.model.messages import ToolCallMessage, ToolResultMessage
from pytest_browsereval.tools.base import Tool, ToolError, ToolResult, tool
from pytest_browsereval.tools.finish import done
from pytest_browsereval.tools.toolbox import Toolbox
from tests.support import StillWindow


@tool(holds_value="name")
async def greet(
    window: Window, name: str, times: Annotated[int, Field(ge=1, description="How often.")] = 1
) -> str:
    """Greet somebody.

    In a second sentence.
    """
    return " ".join([f"Hello {name}!"] * times) + window.url[:0]


@tool(takes_picture=False, may_take_long=True)
async def look(window: Window, at: str | None = None) -> str:
    """Look around."""
    return f"{window.url} {at}"


@tool
async def die(window: Window) -> str:
    """Meet a dead browser."""
    raise Fault(ErrorSource.BROWSER, f"gone: {window.url}")


@tool
async def refuse(window: Window) -> str:
    """Refuse."""
    raise ToolError(f"not at {window.url}")


@pytest.fixture
def capture(tmp_path: Path) -> Iterator[CaptureContext]:
    context = CaptureContext(CaptureContextConfig(tmp_path), StillWindow())
    yield context
    context.close()


def on_the_map(place: str) -> str:
    """Check a place as an author of tools may, who takes any exception for a refusal."""
    if place != "here":
        raise KeyError(place)
    return place


@tool
async def travel(window: Window, place: Annotated[str, AfterValidator(on_the_map)]) -> str:
    """Travel."""
    return f"from {window.url} to {place}"


Boxes = Callable[..., Toolbox]


@pytest.fixture
def box(capture: CaptureContext) -> Boxes:
    async def run(tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(ok=True, output=await tool.body(capture.window, **arguments))

    def make(max_steps: int | None = None) -> Toolbox:
        return Toolbox((greet, look, die, refuse, travel, done), run, capture, max_steps=max_steps)

    return make


def test_a_tool_is_made_of_a_functions_signature() -> None:
    """Name, description, picture and limits come from the function and its decorator."""
    assert (greet.name, greet.description) == ("greet", "Greet somebody. In a second sentence.")
    assert (greet.takes_picture, greet.may_take_long) == (True, False)
    assert (look.takes_picture, look.may_take_long) == (False, True)
    assert greet.schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["name"],
        "properties": {
            "name": {"type": "string"},
            "times": {"type": "integer", "minimum": 1, "default": 1, "description": "How often."},
        },
    }
    assert (look.schema["properties"], look.schema.get("required")) == ({"at": {"type": "string"}}, None)


def test_a_call_is_recorded_with_its_result(box: Boxes, capture: CaptureContext) -> None:
    """Arguments are converted as the schema says; call and result share an id; the step is counted."""
    tools = box()
    result = asyncio.run(tools.call("greet", {"name": "Ann", "times": "2"}))
    assert result == ToolResult(ok=True, output="Hello Ann! Hello Ann!")
    called, returned = capture.messages.messages
    assert isinstance(called, ToolCallMessage)
    assert called.holds_value == "name"
    with pytest.raises(ValueError, match="holds_value is 'nobody', which is not a parameter of look"):
        tool(holds_value="nobody")(look.body)
    assert isinstance(returned, ToolResultMessage)
    assert called.tool_call_id == returned.tool_call_id
    assert returned.result == {"ok": True, "output": "Hello Ann! Hello Ann!"}
    assert (returned.is_error, returned.screenshot, returned.url) == (False, 1, "http://shop.test/")
    assert capture.steps == 1


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("gret", {}, "unknown tool 'gret'. Did you mean 'greet'? Tools: greet, look, die, refuse, "),
        ("greet", {}, "wrong arguments for greet: name: Field required"),
        ("greet", {"name": "x", "times": 0}, "wrong arguments for greet: times: Input should be greater"),
        ("greet", {"name": "x", "mood": 1}, "wrong arguments for greet: mood: Extra inputs"),
        ("refuse", {}, "not at http://shop.test/"),
    ],
)
def test_a_wrong_call_is_an_answer_not_an_exception(
    box: Boxes, capture: CaptureContext, name: str, arguments: dict[str, Any], said: str
) -> None:
    """Unknown tools, wrong arguments and refusals are told, recorded as errors, and counted as steps."""
    result = asyncio.run(box().call(name, arguments))
    assert not result.ok
    assert result.output.startswith(said)
    last = capture.messages.messages[-1]
    assert isinstance(last, ToolResultMessage)
    assert last.is_error
    assert capture.steps == 1


def test_steps_are_limited_but_done_is_not_one(box: Boxes) -> None:
    """With all steps used an agent can still give its answer; not once it has tried a further step."""
    tools = box(max_steps=2)
    for _ in range(2):
        asyncio.run(tools.call("look"))
    assert asyncio.run(tools.call("done", {"answer": "x"})).ok
    assert (tools.is_done, tools.answer) == (True, "x")
    for name, arguments in (("look", {}), ("done", {"answer": "y"}), ("look", {})):
        with pytest.raises(LimitReached, match=r"limits\.max_steps is 2; all were used") as caught:
            asyncio.run(tools.call(name, arguments))
        assert caught.value.reason is TerminationReason.MAX_STEPS
    assert tools.answer == "x"


def test_a_part_has_an_answer_and_a_limit_of_its_own(box: Boxes, capture: CaptureContext) -> None:
    """Its calls count for the attempt as well, whose limit comes first and ends more than the part."""
    whole = box(max_steps=3)
    first = whole.nest(capture.nest("part-1"), max_steps=2)
    for _ in range(2):
        asyncio.run(first.call("look"))
    with pytest.raises(LimitReached, match="2 steps were allowed; all were used"):
        asyncio.run(first.call("look"))
    with pytest.raises(LimitReached, match="2 steps were allowed; all were used"):
        asyncio.run(first.call("done", {"answer": "x"}))
    assert (first.is_done, capture.limits.reached) == (False, None)
    second = whole.nest(capture.nest("part-2"), max_steps=1)
    asyncio.run(second.call("look"))
    with pytest.raises(LimitReached, match=r"limits\.max_steps is 3") as caught:
        asyncio.run(second.call("look"))
    assert capture.limits.reached is caught.value
    assert (capture.steps, second.tools) == (3, whole.tools)


def test_a_part_that_is_closed_can_do_nothing(box: Boxes, capture: CaptureContext) -> None:
    """Neither a step nor an ending is recorded of code that was left behind."""
    nested = capture.nest("part")
    part = box().nest(nested)
    nested.limits.close()
    for name, arguments in (("look", {}), ("done", {"answer": "late"})):
        with pytest.raises(LimitReached, match="it is over"):
            asyncio.run(part.call(name, arguments))
    assert (capture.steps, capture.messages.messages, part.is_done) == (0, (), False)


def test_a_call_that_is_cut_off_has_a_result(capture: CaptureContext) -> None:
    """A call that is cancelled is recorded as an error, without a picture of a page that still moves."""

    async def hang(tool: Tool, arguments: dict[str, Any]) -> ToolResult:
        await asyncio.sleep(60)
        raise AssertionError((tool, arguments))

    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(Toolbox((look,), hang, capture).call("look"), 0.01))
    call, result = capture.messages.messages
    assert isinstance(result, ToolResultMessage)
    assert (result.is_error, result.span_id, result.screenshot) == (True, call.span_id, None)
    assert result.result == {"ok": False, "output": "look was cut off: it was cancelled."}


def test_a_fault_is_recorded_and_raised(box: Boxes, capture: CaptureContext) -> None:
    """The log shows the call that met it; no picture of a dead window is tried."""
    with pytest.raises(Fault, match=r"gone: http://shop\.test/"):
        asyncio.run(box().call("die"))
    last = capture.messages.messages[-1]
    assert isinstance(last, ToolResultMessage)
    assert (last.is_error, last.screenshot) == (True, None)
