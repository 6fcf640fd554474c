"""Points of the viewport, where the mouse has to go for them, and drags between them."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.model.messages import Hit
from pytest_browsereval.tools.base import Refusal, ToolError
from pytest_browsereval.tools.following import DRAWN
from pytest_browsereval.tools.hits import note_point

if TYPE_CHECKING:
    from playwright.async_api import Locator

Point = tuple[float, float]
"""Of the viewport, as the mouse takes it."""

Pair = Annotated[list[float], Field(min_length=2, max_length=2)]
Position = Annotated[Pair, Field(description="[x, y] in CSS pixels from the element's top left corner.")]

DRAG_STEPS = 10
DRAG_PAUSE_S = 0.02
"""Between the moves of a drag: many pages follow it once a frame, and begin it some time after the press."""
SCALE_S = 1.0
"""How long a page is given to tell its zoom."""


def format_point(x: float, y: float) -> str:
    """Return a point as messages have it."""
    return f"({x:g}, {y:g})"


async def mouse_point(window: PlaywrightWindow, x: float, y: float) -> Point:
    """Return where the mouse has to go to get to a point; see ``mouse_points``."""
    return (await mouse_points(window, [(x, y)]))[0]


async def mouse_points(window: PlaywrightWindow, points: Sequence[Sequence[float]]) -> list[Point]:
    """Return where the mouse has to go so that it gets to points of the viewport as a picture shows it.

    What is at the first one is noted.

    The two are the same unless the page is zoomed by pinching. A picture shows the part that is visible
    then, enlarged; Chromium takes the mouse's coordinates from the corner of that part too, but in the
    page's own pixels, and multiplies them by the zoom itself. Page zoom and device scale need nothing.

    Raises:
        ToolError: a point is outside the viewport.
    """
    size = window.page.viewport_size
    for x, y in points:
        if size and not (0 <= x < size["width"] and 0 <= y < size["height"]):
            viewport = f"the viewport, which is {size['width']} x {size['height']} CSS pixels"
            raise ToolError(f"{format_point(x, y)} is outside {viewport}.")
    # At once, so that the second question costs no time.
    x, y = points[0]
    noting = note_point(window, x, y, SCALE_S)
    scale, _ = await asyncio.gather(_zoom(window), noting)
    scale = scale or 1.0
    if scale != 1:  # the page counts its points otherwise
        window.hit = None
    return [(x / scale, y / scale) for x, y in points]


async def _zoom(window: PlaywrightWindow) -> float | None:
    async def ask() -> float:
        session = await window.cdp_session(window.page)
        # Playwright has no call for the zoom by pinching; `visualViewport.scale` is the page's to forge.
        zoom: float = (await session.send("Page.getLayoutMetrics"))["cssVisualViewport"]["scale"]
        return zoom

    # Begun here: a task that is cancelled before it begins would leave an argument that nobody awaits.
    return await quietly(ask(), SCALE_S)


async def place_in(element: Locator, named: str, position: Sequence[float] | None) -> Point:
    """Return a place in an element, by default its middle, as a point of the viewport.

    Args:
        element: is waited for.
        named: what a message calls it.
        position: in CSS pixels from its top left corner.

    Raises:
        ToolError: the element is not visible, or the place is outside of it.
    """
    await element.scroll_into_view_if_needed()
    box = await element.bounding_box()
    if box is None:
        raise ToolError(f"{named} is not visible.")
    x, y = position or (box["width"] / 2, box["height"] / 2)
    if not (0 <= x <= box["width"] and 0 <= y <= box["height"]):
        size = f"{box['width']:g} x {box['height']:g} CSS pixels"
        raise Refusal(f"{format_point(x, y)} is outside of {named}, which is {size}.")
    return box["x"] + x, box["y"] + y


async def move_pointer(window: PlaywrightWindow, way: Sequence[Point], duration_s: float = 0.0) -> None:
    """Move the pointer from the first point of a way, where it is, to the last one, as a hand does."""
    loop, mouse = asyncio.get_running_loop(), window.page.mouse
    moves = list(_spread(way, max(DRAG_STEPS, round(duration_s / DRAG_PAUSE_S))))
    began = loop.time()
    for number, point in enumerate(moves, 1):
        due = began + duration_s * number / len(moves)
        await asyncio.sleep(max(due - loop.time(), 0) if duration_s else DRAG_PAUSE_S)
        await mouse.move(*point)


def _spread(way: Sequence[Point], moves: int) -> Iterator[Point]:
    """Yield so many points along a way, or more: all of its own are among them."""
    whole = sum(math.dist(a, b) for a, b in pairwise(way)) or 1
    for a, b in pairwise(way):
        steps = max(1, round(moves * math.dist(a, b) / whole))
        for step in range(1, steps + 1):
            yield a[0] + (b[0] - a[0]) * step / steps, a[1] + (b[1] - a[1]) * step / steps


async def drag_pointer(
    window: PlaywrightWindow,
    start: Point,
    find_way: Callable[[], Awaitable[Sequence[Point]]],
    duration_s: float = 0.0,
) -> None:
    """Press the button where the pointer is, move on as a hand does, and release it.

    Args:
        window: where the pointer is.
        start: where it is.
        find_way: is called once the button is down, and may scroll.
        duration_s: how long the moves take; 0: as fast as pages can follow.
    """
    mouse = window.page.mouse
    await mouse.down()
    try:
        await move_pointer(window, [start, *await find_way()], duration_s)
        await asyncio.sleep(DRAG_PAUSE_S)
    finally:
        await mouse.up()


# A page says it by its elements and its events, and cannot where it draws on a canvas.
_WATCH = Path(__file__).with_name("drag.js").read_text(encoding="utf-8")
_END = f"async (watch) => {{ await {DRAWN}; return watch.end(); }}"


async def drag_between(
    window: PlaywrightWindow, source: Locator, target: Locator, named: str, position: Sequence[float] | None
) -> str:
    """Drag from an element that the pointer is over onto another one, and return what the page says of it.

    Args:
        window: where both are.
        source: the element.
        target: the other one.
        named: what a message calls that.
        position: the place in it; None: its middle.

    Raises:
        ToolError: nothing has come of it.
    """

    async def find_way() -> list[Point]:
        end = await place_in(target, shorten(named, 80), position)
        window.hit = (window.hit or Hit()).model_copy(update={"points": (start, end)})
        return [end]

    start, limit_s = await place_in(source, "The source", None), window.rules.action_s
    other = await quietly(target.element_handle(), limit_s)
    watch = await quietly(source.evaluate_handle(_WATCH, other), limit_s)
    if watch is None:  # the target is in a frame of another origin
        watch = await quietly(source.evaluate_handle(_WATCH), limit_s)
    await drag_pointer(window, start, find_way)
    said = await quietly(watch.evaluate(_END), limit_s) if watch is not None else None
    why, note = said or ("", "")
    if why:
        raise ToolError(f"It was dragged, but {why}.")
    return note
