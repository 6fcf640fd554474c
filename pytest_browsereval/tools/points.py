"""Points of the viewport, where the mouse has to go for them, and drags between them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.tools.base import ToolError
from pytest_browsereval.tools.hits import note_point

if TYPE_CHECKING:
    from playwright.async_api import Locator

Point = tuple[float, float]
"""Of the viewport, as the mouse takes it."""

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
    window: PlaywrightWindow, start: Point, find_end: Callable[[], Awaitable[Point]]
) -> None:
    """Press the button where the pointer is, move to the end as a hand does, and release it.

    Args:
        window: where the pointer is.
        start: where it is.
        find_end: is called once the button is down, and may scroll.
    """
    mouse = window.page.mouse
    await mouse.down()
    try:
        end = await find_end()
        for step in range(1, DRAG_STEPS + 1):
            await asyncio.sleep(DRAG_PAUSE_S)
            share = step / DRAG_STEPS
            await mouse.move(*(a + (b - a) * share for a, b in zip(start, end, strict=True)))
        await asyncio.sleep(DRAG_PAUSE_S)
    finally:
        await mouse.up()


# A page says it by its elements and its events, and cannot where it draws on a canvas.
_WATCH = """(one, other) => {
  const both = [one, other].filter(Boolean), views = new Set(both.map((el) => el.ownerDocument.defaultView));
  const place = () => both.map((el) => {
    const {left, top} = el.getBoundingClientRect();
    return [el.isConnected, Math.round(left), Math.round(top), el.childElementCount, el.value,
      [...el.parentNode?.children ?? []].indexOf(el)];
  }).join();
  const before = place(), parent = one.parentNode, on = ['dragstart', 'drop', 'input', 'change', 'scroll'];
  const seen = new Set(document.querySelector('canvas') ? ['canvas'] : []);
  const note = (event) => seen.add(event.type);
  const watch = new MutationObserver(() => seen.add('change'));
  for (const el of both) for (let root = el.getRootNode(); root; root = root.host?.getRootNode())
    watch.observe(root, {subtree: true, childList: true, attributes: true, characterData: true});
  for (const view of views) for (const type of on) view.addEventListener(type, note, true);
  return {end: () => {
    const hasMoved = place() !== before || one.parentNode !== parent;
    watch.disconnect();
    for (const view of views) for (const type of on) view.removeEventListener(type, note, true);
    if (hasMoved || seen.has('canvas')) return ['', ''];
    if (seen.has('dragstart') && !seen.has('drop')) return ['nothing on the page takes it there', ''];
    if (!other) return ['', ''];
    return seen.size ? ['', 'both are where they were'] : ['nothing on the page has moved', ''];
  }};
}"""
_END = """async (watch) => {
  await new Promise((go) => { requestAnimationFrame(() => setTimeout(go)); setTimeout(go, 100); });
  return watch.end();
}"""


async def drag_between(window: PlaywrightWindow, source: Locator, target: Locator) -> str:
    """Drag from an element that the pointer is over onto another one, and return what the page says of it.

    Raises:
        ToolError: nothing has come of it.
    """

    async def find_end() -> Point:
        await target.scroll_into_view_if_needed()
        return await _find_middle(target)

    start, limit_s = await _find_middle(source), window.rules.action_s
    other = await quietly(target.element_handle(), limit_s)
    watch = await quietly(source.evaluate_handle(_WATCH, other), limit_s)
    if watch is None:  # the target is in a frame of another origin
        watch = await quietly(source.evaluate_handle(_WATCH), limit_s)
    await drag_pointer(window, start, find_end)
    said = await quietly(watch.evaluate(_END), limit_s) if watch is not None else None
    why, note = said or ("", "")
    if why:
        raise ToolError(f"It was dragged, but {why}.")
    return note


async def _find_middle(element: Locator) -> Point:
    box = await element.bounding_box()
    if box is None:
        raise ToolError("The target is not visible any more.")
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
