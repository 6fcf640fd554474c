"""Points of the viewport, and where the mouse has to go for them."""

from __future__ import annotations

import math

from pytest_browsereval.browsers.waiting import quietly
from pytest_browsereval.browsers.windows import PlaywrightWindow
from pytest_browsereval.tools.base import ToolError

SCALE_S = 1.0
"""How long a page is given to tell its zoom."""


async def mouse_point(window: PlaywrightWindow, x: float, y: float) -> tuple[float, float]:
    """Return what the mouse is told so that it goes to a point of the viewport as a picture shows it.

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
    scale = await quietly(window.page.evaluate("() => visualViewport.scale"), SCALE_S)
    if not isinstance(scale, int | float) or not math.isfinite(scale) or scale <= 0:
        return x, y
    return x / scale, y / scale
