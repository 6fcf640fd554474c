"""What is shipped for authors of tools: called, good ones pass, and each kind of bad one is found."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, cast

import pytest
from pydantic import AfterValidator, BaseModel, Field

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.features.conformance.browsers import run
from pytest_browsereval.testing import check_calls, open_window
from pytest_browsereval.tools.base import Tool, ToolError, tool
from pytest_browsereval.tools.input import click, handle_dialog
from pytest_browsereval.tools.navigation import navigate
from pytest_browsereval.tools.observation import read_text
from pytest_browsereval.tools.tabs import select_tab
from tests.support import StillWindow

PRICES = {"mug": 4}

Arguments = Mapping[str, Any]


class Fragile(StillWindow):
    """A window that a tool can break."""


@tool
async def price(window: Window, thing: Annotated[str, Field(min_length=1)], count: int = 1) -> str:
    """Tell a price."""
    if thing not in PRICES:
        raise ToolError(f"There is no {thing} at {window.url}.")
    return f"{PRICES[thing] * count} dollars."


def test_a_good_tool_has_no_problem(recwarn: pytest.WarningsRecorder) -> None:
    """It says what it did, and refuses by its schema or in its own words."""
    good: list[Arguments] = [{"thing": "mug"}, {"thing": "mug", "count": 3}]
    bad: list[Arguments] = [{"thing": "cup"}, {"thing": ""}, {"thing": 1}, {"thing": "mug", "count": "many"}]
    asyncio.run(check_calls(price, StillWindow(), good=good, bad=bad))
    assert not recwarn.list


def test_good_arguments_are_needed() -> None:
    """Of a tool that is never called with any, nothing is known."""
    with pytest.raises(ValueError, match="give one set of good arguments at least"):
        asyncio.run(check_calls(price, StillWindow(), good=[]))


@tool
async def breaks(window: Window, thing: str) -> str:
    """Tell a price."""
    return f"{PRICES[thing]} dollars at {window.url}"


@tool
async def leaves(window: Window, thing: str) -> str:
    """Tell a price."""
    return thing if window.url == thing else sys.exit(2)


@tool
async def returns_data(window: Window) -> str:
    """Tell all prices."""
    return cast("str", {**PRICES, "at": window.url})


@tool
async def wraps(window: Window, thing: str = "mug") -> str:
    """Tell a price."""
    return f'{{"ok": false, "output": "no {thing} at {window.url}"}}'


@tool
async def says_nothing(window: Window) -> str:
    """Tell a price."""
    return window.url[:0]


@tool
async def refuses_wordlessly(window: Window, thing: str) -> str:
    """Tell a price."""
    if thing == "mug":
        return f"4 dollars at {window.url}"
    raise ToolError


@tool
async def refuses(window: Window) -> str:
    """Tell a price."""
    raise ToolError(f"not at {window.url}")


@tool
async def takes_anything(window: Window, thing: str) -> str:
    """Tell a price."""
    return f"{PRICES.get(thing)} dollars at {window.url}"


def known(thing: str) -> str:
    if thing not in PRICES:
        raise TypeError(f"what is a {thing}?")
    return thing


@tool
async def checks_badly(window: Window, thing: Annotated[str, AfterValidator(known)]) -> str:
    """Tell a price."""
    return f"4 dollars for a {thing} at {window.url}"


@tool
async def kills(window: Fragile, how: Literal["softly", "hard"]) -> str:
    """Kill."""
    window.dead = f"killed {how}" if how == "hard" else None
    return "done"


class Loose(BaseModel):
    """Arguments that need not be given, and others that are taken."""

    thing: str = "mug"


class Unchecked(Tool):
    """A tool whose body meets what its schema forbids."""

    def check_arguments(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return dict(arguments)


loose = Tool("loose", "Tell a price.", Loose, price.body)
unchecked = Unchecked("unchecked", "Tell a price.", price.arguments, price.body)

MUG, CUP = {"thing": "mug"}, {"thing": "cup"}

BROKEN: dict[str, tuple[Tool, Arguments, Sequence[Arguments], str]] = {
    "raises what passes for a refusal": (
        breaks,
        MUG,
        [CUP],
        """with {"thing": "cup"}: it raises KeyError: 'cup'""",
    ),
    "ends the process": (
        leaves,
        {"thing": "http://shop.test/"},
        [CUP],
        "it raises RuntimeError: SystemExit(2)",
    ),
    "returns no text": (
        returns_data,
        {},
        [],
        "with {}: it returns {'mug': 4, 'at': 'http://shop.test/'}, which is",
    ),
    "returns an envelope": (
        wraps,
        MUG,
        [],
        'it returns an envelope itself: {"ok": false, "output": "no mug at',
    ),
    "says nothing": (says_nothing, {}, [], "with {}: its output is empty"),
    "refuses without a word": (
        refuses_wordlessly,
        MUG,
        [CUP],
        "its output is empty; say what was done, or why",
    ),
    "refuses what is good": (refuses, {}, [], "with {}: it refuses good arguments: not at http://shop.test/"),
    "its schema refuses it": (
        price,
        {"thing": ""},
        [],
        "it refuses good arguments: thing: String should have",
    ),
    "takes what is bad": (takes_anything, MUG, [CUP], "it takes bad arguments, and says: None dollars at"),
    "takes unknown arguments": (loose, MUG, [], 'with {"thing": "mug", "no_such_argument": 1}: it takes bad'),
    "meets unknown arguments": (unchecked, MUG, [], "got an unexpected keyword argument 'no_such_argument'"),
    "meets missing arguments": (
        unchecked,
        MUG,
        [],
        "with {}: it raises TypeError: price() missing 1 required",
    ),
    "its check raises": (
        checks_badly,
        MUG,
        [CUP],
        'with {"thing": "cup"}: it raises TypeError: what is a cup?',
    ),
    "kills the window": (kills, {"how": "softly"}, [{"how": "hard"}], "the window has died: killed hard"),
}


def test_each_breach_is_found(subtests: pytest.Subtests) -> None:
    """With the arguments that show it."""
    for case, (each, good, bad, told) in BROKEN.items():
        why = f"^tool {each.name!r}: .*{re.escape(told)}"
        with subtests.test(case=case), pytest.raises(AssertionError, match=why):
            asyncio.run(check_calls(each, Fragile(), good=[good], bad=bad))


@tool
async def repeats(window: Window, count: int) -> str:
    """Say it again."""
    return "x" * count + window.url[:0]


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
