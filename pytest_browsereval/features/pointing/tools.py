"""Input at points of the viewport, in CSS pixels, for agents that look at pictures."""

from __future__ import annotations

import time
from typing import Annotated

from pydantic import Field

from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.tools.base import Refusal, Tool, tool
from pytest_browsereval.tools.following import follow_input
from pytest_browsereval.tools.input import Button, ClickCount, Direction, Notches, describe_click, turn_wheel
from pytest_browsereval.tools.keys import HoldMs, Modifiers, holding
from pytest_browsereval.tools.points import (
    Pair,
    Point,
    drag_pointer,
    format_point,
    mouse_point,
    mouse_points,
    move_pointer,
)
from pytest_browsereval.tools.toolkit import Policy, Toolkit
from pytest_browsereval.tools.values import describe_keys, find_focused

X = Annotated[float, Field(description="CSS pixels from the left edge of the viewport.")]
Y = Annotated[float, Field(description="CSS pixels from the top edge of the viewport.")]
Path = Annotated[
    list[Pair],
    Field(min_length=2, max_length=200, description="[[x, y], …]: all points that the pointer goes through."),
]
Duration = Annotated[
    float, Field(ge=0, le=30, description="Seconds that the way takes; 0: as fast as pages can follow.")
]
Typed = Annotated[str, Field(max_length=2000, description="The text.")]
Clear = Annotated[bool, Field(description="Delete what is there before.")]


def _take_way(path: list[Pair] | None, points: list[list[float | None]], names: str) -> list[list[float]]:
    """Return the points that a call names, by a path or one by one.

    Raises:
        Refusal: it does both, or neither.
    """
    given = [number for point in points for number in point if number is not None]
    if len(given) != (0 if path else 2 * len(points)):
        raise Refusal(f"Give either {names}, or path.")
    return path or [given[place : place + 2] for place in range(0, len(given), 2)]


def _describe_way(points: list[list[float]]) -> str:
    between = len(points) - 2
    through = f" through {between} point{'s' if between > 1 else ''}" if between > 0 else ""
    return f"from {format_point(*points[0])} to {format_point(*points[-1])}{through}"


@tool
async def click_at(
    window: PlaywrightWindow,
    x: X,
    y: Y,
    *,
    button: Button = "left",
    click_count: ClickCount = 1,
    modifiers: Modifiers | None = None,
    hold_ms: HoldMs = 0,
    then: Annotated[
        list[Pair], Field(max_length=100, description="[[x, y], …]: further points to click, in this order.")
    ]
    | None = None,
) -> str:
    """Click at a point of the viewport."""
    given = [[x, y], *(then or ())]
    points = await mouse_points(window, given)
    async with follow_input(window), holding(window.page.keyboard, modifiers or ()):
        for point in points:
            await window.page.mouse.click(*point, button=button, click_count=click_count, delay=hold_ms)
    where = ", ".join(format_point(*point) for point in given)
    return describe_click(f"at {where}", button, click_count, modifiers, hold_ms)


@tool(sets_off="")
async def hover_at(
    window: PlaywrightWindow,
    x: X | None = None,
    y: Y | None = None,
    path: Path | None = None,
    duration_s: Duration = 0,
) -> str:
    """Move the pointer to a point of the viewport, or along a path."""
    given = _take_way(path, [[x, y]], "x and y")
    points = await mouse_points(window, given)
    await window.page.mouse.move(*points[0])
    if path:
        await move_pointer(window, points, duration_s)
    where = f", moved {_describe_way(given)}" if path else ""
    return f"The pointer is at {format_point(*given[-1])}{where}."


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
    return await _type(window, text, f" at {format_point(x, y)}", clear=clear)


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
async def drag_at(
    window: PlaywrightWindow,
    *,
    start_x: X | None = None,
    start_y: Y | None = None,
    end_x: X | None = None,
    end_y: Y | None = None,
    path: Path | None = None,
    duration_s: Duration = 0,
) -> str:
    """Press the mouse button at one point of the viewport and release it at another one, or along a path."""
    given = _take_way(path, [[start_x, start_y], [end_x, end_y]], "start_x, start_y, end_x and end_y")
    # All before the button goes down: refused half-way, it would stay down.
    start, *rest = await mouse_points(window, given)

    async def find_way() -> list[Point]:
        return rest

    async with follow_input(window):
        await window.page.mouse.move(*start)
        await drag_pointer(window, start, find_way, duration_s)
    return f"Dragged {_describe_way(given)}."


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
"""Its policy stands here, next to the tools."""
