"""Drops files on an element of a page, as a person does who drags them out of another window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.browsers.playwright.world import ask_apart
from pytest_browsereval.tools.base import ToolError
from pytest_browsereval.tools.following import await_frame, follow_input
from pytest_browsereval.tools.targets import act, resolve

if TYPE_CHECKING:
    from playwright.async_api import Locator

_READ_S = 1.0
# A page may stop an event on its way, so each node on its way is listened to, after the page's own listeners.
# What a page lets go of, Chromium would open as a document of its own, with its path on this machine.
_LISTEN = """(one) => {
  const view = one.ownerDocument.defaultView, stop = new AbortController();
  globalThis.browserevalDrop?.stop.abort();
  const state = globalThis.browserevalDrop = {stop, isZone: false, isTaken: false};
  const isPart = (node) => node.nodeType === 1 && !node.matches("body, html");
  const listen = (kind, hear) => view.addEventListener(kind, (event) => {
    const isGuarded = event.defaultPrevented;
    for (const node of event.composedPath()) {
      node.addEventListener(kind, () => hear(event, node, isGuarded), {once: true, signal: stop.signal});
    }
  }, {capture: true, signal: stop.signal});
  listen("dragover", (event, node, isGuarded) => {
    if (state.over !== event) state.isZone = false;
    state.over = event;
    if (event.defaultPrevented && !isGuarded && isPart(node)) state.isZone = true;
  });
  listen("drop", (event, node) => {
    if (!event.cancelBubble && node !== view) return;
    state.isTaken = event.defaultPrevented;
    event.preventDefault();
  });
  return Boolean(one.closest("button, a[href], summary, label, [role=button], [role=link], [role=menuitem]"));
}"""
_READ = """(_, when) => {
  const {over, isZone, isTaken, stop} = globalThis.browserevalDrop;
  if (when === "after") stop.abort();
  const isAccepted = Boolean(over?.defaultPrevented) && over.dataTransfer.dropEffect !== "none";
  return {isAccepted, isZone: isAccepted && isZone, isTaken};
}"""


async def drop_files(
    window: PlaywrightWindow, target: str, files: list[Path], *, only_zone: bool = False
) -> bool:
    """Drop files on the middle of a target and return True, if it accepts them when they are over it.

    Args:
        window: where it is.
        target: as for a click.
        files: on this machine.
        only_zone: drop nothing on buttons and links, nor where only the whole page accepts files: it may do
            so to keep the browser from opening them.

    Raises:
        ToolError: the page let go of what it had accepted.
    """
    locator = resolve(window, target)
    box = await act(window, target, _find_box)
    if box is None:
        return False
    is_button = await ask_apart(locator, _LISTEN)
    if only_zone and is_button:
        return False
    (x, y), session = _middle(window, box), await window.cdp_session(window.page)
    data = {"items": [], "files": [str(one) for one in files], "dragOperationsMask": 1}

    async def send(*kinds: str) -> None:
        for kind in kinds:
            await session.send("Input.dispatchDragEvent", {"type": kind, "x": x, "y": y, "data": data})

    await send("dragEnter", "dragOver")
    await await_frame(window)  # some put a zone over the page now
    await send("dragOver")
    seen = await ask_apart(locator, _READ, "before")
    if not seen["isZone" if only_zone else "isAccepted"]:
        await send("dragCancel")
        return False
    async with follow_input(window):
        await send("drop")
        # A page that goes elsewhere, or puts something else in its place, has taken them.
        seen = await quietly(ask_apart(locator, _READ, "after", limit_s=_READ_S), _READ_S)
    if seen and not seen["isTaken"]:
        raise ToolError("The page let files be dragged there, but it did not take the drop.")
    return True


async def _find_box(locator: Locator) -> Any:
    await locator.scroll_into_view_if_needed()
    return await locator.bounding_box()


def _middle(window: PlaywrightWindow, box: dict[str, float]) -> tuple[float, float]:
    """Return the middle of what the viewport shows of a box."""
    size = window.page.viewport_size or {"width": float("inf"), "height": float("inf")}

    def find(start: float, length: float, most: float) -> float:
        return (max(start, 0.0) + min(start + length, most)) / 2

    return find(box["x"], box["width"], size["width"]), find(box["y"], box["height"], size["height"])
