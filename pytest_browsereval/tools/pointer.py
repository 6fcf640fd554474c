"""Input at points of the viewport, in CSS pixels, for agents that look at pictures."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pytest_browsereval.browsers.origins import shorten
from pytest_browsereval.browsers.windows import PlaywrightWindow
from pytest_browsereval.tools.base import Tool, ToolError, tool
from pytest_browsereval.tools.input import Button, ClickCount, Direction, Notches, turn_wheel

X = Annotated[float, Field(description="CSS pixels from the left edge of the viewport.")]
Y = Annotated[float, Field(description="CSS pixels from the top edge of the viewport.")]
DRAG_STEPS = 10


def _inside(window: PlaywrightWindow, x: float, y: float) -> str:
    size = window.page.viewport_size
    if size and not (0 <= x < size["width"] and 0 <= y < size["height"]):
        raise ToolError(
            f"({x:g}, {y:g}) is outside the viewport, which is {size['width']} x {size['height']} CSS pixels."
        )
    return f"({x:g}, {y:g})"


@tool
async def click_at(
    window: PlaywrightWindow, x: X, y: Y, button: Button = "left", click_count: ClickCount = 1
) -> str:
    """Click at a point of the viewport."""
    point = _inside(window, x, y)
    await window.page.mouse.click(x, y, button=button, click_count=click_count)
    how = {1: "Clicked", 2: "Double-clicked", 3: "Triple-clicked"}[click_count]
    return f"{how} at {point}{'' if button == 'left' else f' with the {button} button'}."


@tool
async def hover_at(window: PlaywrightWindow, x: X, y: Y) -> str:
    """Move the pointer to a point of the viewport."""
    point = _inside(window, x, y)
    await window.page.mouse.move(x, y)
    return f"The pointer is at {point}."


@tool
async def type_at(
    window: PlaywrightWindow,
    x: X,
    y: Y,
    text: Annotated[str, Field(max_length=2000, description="The text.")],
    clear: Annotated[bool, Field(description="Delete what is there before.")] = False,  # noqa: FBT002
) -> str:
    """Click at a point of the viewport and type."""
    point = _inside(window, x, y)
    page = window.page
    await page.mouse.click(x, y)
    if clear:
        await page.keyboard.press("ControlOrMeta+A")
        await page.keyboard.press("Delete")
    await page.keyboard.type(text)
    return f"Typed {shorten(text, 60)!r} at {point}."


@tool
async def drag_at(window: PlaywrightWindow, start_x: X, start_y: Y, end_x: X, end_y: Y) -> str:
    """Press the mouse button at one point of the viewport and release it at another one."""
    start, end = _inside(window, start_x, start_y), _inside(window, end_x, end_y)
    mouse = window.page.mouse
    await mouse.move(start_x, start_y)
    await mouse.down()
    await mouse.move(end_x, end_y, steps=DRAG_STEPS)
    await mouse.up()
    return f"Dragged from {start} to {end}."


@tool
async def scroll_at(window: PlaywrightWindow, x: X, y: Y, direction: Direction, amount: Notches = 3) -> str:
    """Turn the mouse wheel at a point of the viewport."""
    _inside(window, x, y)
    await window.page.mouse.move(x, y)
    return await turn_wheel(window, direction, amount)


TOOLS: tuple[Tool, ...] = (click_at, hover_at, type_at, drag_at, scroll_at)
