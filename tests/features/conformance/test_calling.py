"""What is shipped for authors of tools: called, good ones pass, and each kind of bad one is found."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.features.conformance.browsers import run
from pytest_browsereval.features.tabs.tools import select_tab
from pytest_browsereval.testing import check_calls, open_window
from pytest_browsereval.tools.base import Tool, ToolError, tool
from pytest_browsereval.tools.input import click, handle_dialog
from pytest_browsereval.tools.navigation import navigate
from pytest_browsereval.tools.observation import read_text
from tests.support import StillWindow

PRICES = {"mug": 4}

Arguments = Mapping[str, Any]
Body = Callable[..., Awaitable[str]]


class Fragile(StillWindow):
    """A window that a tool can break."""


@tool
async def price(window: Window, thing: Annotated[str, Field(min_length=1)], count: int = 1) -> str:
    """Tell a price."""
    if thing not in PRICES:
        raise ToolError(f"There is no {thing} at {window.url}.")
    return f"{PRICES[thing] * count} dollars."


def test_a_good_tool_has_no_problem() -> None:
    """It says what it did, and refuses by its schema or in its own words; it has to be called once."""
    good: list[Arguments] = [{"thing": "mug"}, {"thing": "mug", "count": 3}]
    bad: list[Arguments] = [{"thing": "cup"}, {"thing": ""}, {"thing": 1}, {"thing": "mug", "count": "many"}]
    asyncio.run(check_calls(price, StillWindow(), good=good, bad=bad))
    with pytest.raises(ValueError, match="give at least one set of good arguments"):
        asyncio.run(check_calls(price, StillWindow(), good=[]))


class Thing(BaseModel):
    """Arguments that need not be given, and others that are taken."""

    thing: str = "mug"


class Unchecked(Tool):
    """A tool whose body meets what its schema forbids."""

    def check_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return dict(arguments)


class Asking(Unchecked):
    """A tool whose own check of its arguments raises."""

    def check_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {"thing": PRICES[arguments["thing"]]}


def say(output: object, *, refuses: str | None = None, dies: bool = False) -> Body:
    """Return the body of a tool that says this, refuses one thing, or loses its window."""

    async def body(window: Fragile, thing: str = "mug") -> Any:
        if thing == refuses:
            raise ToolError
        window.dead = "killed" if dies else None
        return output(thing) if callable(output) else output

    return body


def made(body: Body, kind: type[Tool] = Tool, arguments: type[BaseModel] = Thing) -> Tool:
    return kind("tried", "Tell a price.", arguments, body)


MUG, CUP = {"thing": "mug"}, {"thing": "cup"}
TAKES = price.arguments

BROKEN: tuple[tuple[Tool, Arguments, Sequence[Arguments], str], ...] = (
    (made(say(PRICES.__getitem__)), MUG, [CUP], """with {"thing": "cup"}: it raises KeyError: 'cup'"""),
    (made(say(PRICES)), {}, [], "with {}: it returns {'mug': 4}, which is not a string"),
    (made(say("")), {}, [], "with {}: its output is empty"),
    (price, {"thing": "cup"}, [], "it refuses good arguments: There is no cup at http://shop.test/."),
    (made(say("4 dollars")), MUG, [CUP], "it accepts bad arguments, and says: 4 dollars"),
    (made(price.body), MUG, [], 'with {"thing": "mug", "no_such_argument": 1}: it accepts bad'),
    (made(price.body, Unchecked, TAKES), MUG, [], "unexpected keyword argument 'no_such_argument'"),
    (made(price.body, Asking), MUG, [CUP], """with {"thing": "cup"}: it raises KeyError: 'cup'"""),
    (made(say("done", dies=True)), MUG, [], "the window has died: killed"),
)


def test_each_breach_is_found(subtests: pytest.Subtests) -> None:
    """With the arguments that show it."""
    for each, good, bad, told in BROKEN:
        why = f"^tool {each.name!r}: .*{re.escape(told)}"
        with subtests.test(told=told), pytest.raises(AssertionError, match=why):
            asyncio.run(check_calls(each, Fragile(), good=[good], bad=bad))


@pytest.mark.slow
def test_our_tools_keep_the_contract_in_a_real_window() -> None:
    """Refusals of the page, of tabs and of dialogs are the tools' own."""

    async def work() -> None:
        async with open_window() as window:
            button, link = {"target": "role=button"}, {"target": "role=link"}
            await check_calls(click, window, good=[button], bad=[{"target": "p"}, {"target": "]["}])
            await check_calls(read_text, window, good=[{}, {"target": "h1"}], bad=[{"target": "p"}])
            await check_calls(select_tab, window, good=[{"tab_id": window.tab_id}], bad=[{"tab_id": 99}])
            with pytest.raises(AssertionError, match=r"it refuses good arguments: No dialog is open\.$"):
                await check_calls(handle_dialog, window, good=[{"accept": True}])
            await check_calls(
                navigate, window, good=[{"url": window.url}], bad=[{"url": "shop://"}, {"url": ""}]
            )
            await check_calls(click, window, good=[link])
            assert window.url.endswith("/second")

    run(work())
