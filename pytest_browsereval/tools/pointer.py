"""Input at points of the viewport, in CSS pixels, for agents that look at pictures."""

from __future__ import annotations

import time
from typing import Annotated

from pydantic import Field

from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.tools.base import Tool, tool
from pytest_browsereval.tools.following import follow_input
from pytest_browsereval.tools.input import Button, ClickCount, Direction, Notches, describe_click, turn_wheel
from pytest_browsereval.tools.points import Point, drag_pointer, mouse_point
from pytest_browsereval.tools.toolkit import Policy, Toolkit
from pytest_browsereval.tools.values import describe_keys, find_focused

X = Annotated[float, Field(description="CSS pixels from the left edge of the viewport.")]
Y = Annotated[float, Field(description="CSS pixels from the top edge of the viewport.")]
Typed = Annotated[str, Field(max_length=2000, description="The text.")]
Clear = Annotated[bool, Field(description="Delete what is there before.")]


def _format_point(x: float, y: float) -> str:
    return f"({x:g}, {y:g})"


@tool
async def click_at(
    window: PlaywrightWindow, x: X, y: Y, button: Button = "left", click_count: ClickCount = 1
) -> str:
    """Click at a point of the viewport."""
    point = await mouse_point(window, x, y)
    async with follow_input(window):
        await window.page.mouse.click(*point, button=button, click_count=click_count)
    return describe_click(f"at {_format_point(x, y)}", button, click_count)


@tool(sets_off="")
async def hover_at(window: PlaywrightWindow, x: X, y: Y) -> str:
    """Move the pointer to a point of the viewport."""
    await window.page.mouse.move(*await mouse_point(window, x, y))
    return f"The pointer is at {_format_point(x, y)}."


@tool(holds_value="text")
async def type_at(
    window: PlaywrightWindow,
    x: X,
    y: Y,
    text: Typed,
    clear: Clear = False,  # noqa: FBT002
) -> str:
    """Click at a point of the viewport and type."""
    await window.page.mouse.click(*await mouse_point(window, x, y))
    return await _type(window, text, f" at {_format_point(x, y)}", clear=clear)


@tool(sets_off="keys", holds_value="text")
async def type_keys(window: PlaywrightWindow, text: Typed, clear: Clear = False) -> str:  # noqa: FBT002
    """Type key by key where the focus is, after a click for example."""
    return await _type(window, text, "", clear=clear)


async def _type(window: PlaywrightWindow, text: str, where: str, *, clear: bool) -> str:
    keyboard, began, has_focus = window.page.keyboard, time.monotonic(), await find_focused(window)
    if clear:
        # `ControlOrMeta` is Meta on a Mac, where Control+A only moves the caret.
        await keyboard.press("ControlOrMeta+A")
        await keyboard.press("Delete")
    async with follow_input(window):
        await keyboard.type(text)
    return await describe_keys(window, text, where, has_focus=has_focus, began=began)


@tool
async def drag_at(window: PlaywrightWindow, start_x: X, start_y: Y, end_x: X, end_y: Y) -> str:
    """Press the mouse button at one point of the viewport and release it at another one."""
    # Both before the button goes down: refused half-way, it would stay down.
    start = await mouse_point(window, start_x, start_y)
    end = await mouse_point(window, end_x, end_y)

    async def find_end() -> Point:
        return end

    await window.page.mouse.move(*start)
    await drag_pointer(window, start, find_end)
    return f"Dragged from {_format_point(start_x, start_y)} to {_format_point(end_x, end_y)}."


@tool(sets_off="", holds_value="direction")
async def scroll_at(window: PlaywrightWindow, x: X, y: Y, direction: Direction, amount: Notches = 3) -> str:
    """Turn the mouse wheel at a point of the viewport."""
    await window.page.mouse.move(*await mouse_point(window, x, y))
    return await turn_wheel(window, direction, amount)


TOOLS: tuple[Tool, ...] = (click_at, hover_at, type_at, type_keys, drag_at, scroll_at)

KIT = Toolkit(
    "pointer",
    "Clicks and keys, by coordinates",
    TOOLS,
    policy=(
        Policy(
            "Points are CSS pixels from the top left corner of the visible part of the page. Use them for "
            "what has no element of its own: a canvas, a map, a drawing."
        ),
    ),
    absent="You cannot act at points of the page by coordinates.",
    needs_pictures=tuple(tool.name for tool in TOOLS),
)
"""Its policy stands here, beside the tools."""
