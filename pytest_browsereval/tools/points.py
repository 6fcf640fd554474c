"""Points of the viewport, where the mouse has to go for them, and drags between them."""

from __future__ import annotations

import asyncio

from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.tools.base import ToolError
from pytest_browsereval.tools.hits import note_point

DRAG_STEPS = 10
DRAG_PAUSE_S = 0.02
"""Between the moves of a drag: many pages follow it once a frame, and begin it some time after the press."""
SCALE_S = 1.0
"""How long a page is given to tell its zoom."""


async def mouse_point(window: PlaywrightWindow, x: float, y: float) -> tuple[float, float]:
    """Return where the mouse has to go so that it gets to a point of the viewport as a picture shows it.

    The two are the same unless the page is zoomed by pinching. A picture shows the part that is visible
    then, enlarged; Chromium takes the mouse's coordinates from the corner of that part too, but in the
    page's own pixels, and multiplies them by the zoom itself. Page zoom and device scale need nothing.

    Raises:
        ToolError: the point is outside the viewport.
    """
    size = window.page.viewport_size
    if size and not (0 <= x < size["width"] and 0 <= y < size["height"]):
        raise ToolError(
            f"({x:g}, {y:g}) is outside the viewport, which is {size['width']} x {size['height']} CSS pixels."
        )
    # At once, so that the second question costs no time.
    scale, _ = await asyncio.gather(quietly(_zoom(window), SCALE_S), note_point(window, x, y, SCALE_S))
    scale = scale or 1.0
    if scale != 1:  # the page counts its points otherwise
        window.hit = None
    return x / scale, y / scale


async def _zoom(window: PlaywrightWindow) -> float:
    session = await window.cdp_session(window.page)
    # Playwright has no call for the zoom by pinching; `visualViewport.scale` is the page's to forge.
    zoom: float = (await session.send("Page.getLayoutMetrics"))["cssVisualViewport"]["scale"]
    return zoom


async def drag_pointer(
    window: PlaywrightWindow, start: tuple[float, float], end: tuple[float, float]
) -> None:
    """Press the button where the pointer is, move to the end as a hand does, and release it."""
    mouse = window.page.mouse
    await mouse.down()
    try:
        for step in range(1, DRAG_STEPS + 1):
            await asyncio.sleep(DRAG_PAUSE_S)
            share = step / DRAG_STEPS
            await mouse.move(*(a + (b - a) * share for a, b in zip(start, end, strict=True)))
        await asyncio.sleep(DRAG_PAUSE_S)
    finally:
        await mouse.up()
