"""A person's hands: they press what the bar shows, where it shows it, and wait for what it says."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.features.record.recorder import Recorder
from pytest_browsereval.tools.targets import locate

if TYPE_CHECKING:
    from playwright.async_api import Page

FINISH = "Test the checks and finish"
REMOVE = "\N{MULTIPLICATION SIGN}"
"""On the button by which a line of the list is taken back."""


async def hold(_: object) -> list[str]:
    """Try no row: each one holds."""
    return []


class Hands:
    """Those of a person in front of a window."""

    def __init__(self, window: PlaywrightWindow, recorder: Recorder) -> None:
        self.window = window
        self.recorder = recorder
        self.waiting = asyncio.ensure_future(recorder.wait())
        self.page: Page = window.page
        self.heard = asyncio.Event()
        """Is set when the page or the bar has reported something."""
        put = recorder._put

        def note(*given: Any, **named: Any) -> None:
            put(*given, **named)
            self.heard.set()

        recorder._put = note  # type: ignore[method-assign]

    async def ready(self) -> None:
        """Wait until the bar is there and nothing that was done is still to be recorded."""
        await find_button(self.page, FINISH)
        await self.settle()

    async def settle(self) -> None:
        """Wait until all that was done is recorded: what was heard last is what is done last."""
        for view in self.recorder._views:  # what the page has reported comes before its answer
            await quietly(view.session.send("Runtime.evaluate", {"expression": "1"}), 20)
        heard = asyncio.ensure_future(self.recorder._heard.join())
        done, _ = await asyncio.wait({heard, self.waiting}, timeout=120, return_when=asyncio.FIRST_COMPLETED)
        heard.cancel()
        assert done

    async def wait_for_listeners(self) -> None:
        """Wait until the script has listened again, which it does three times a second."""
        (view, *_) = self.recorder._views
        script = "new Promise((go) => setTimeout(go, 700))"  # by the clock of the page that it is in
        await quietly(view.session.send("Runtime.evaluate", {"expression": script, "awaitPromise": True}), 20)
        await self.settle()

    async def press(self, button: str) -> None:
        """Press a button of the bar with the mouse, once it shows all that was done."""
        await self.settle()
        await self.page.mouse.click(*await find_button(self.page, button))
        await self.settle()

    async def said(self) -> str:
        """Return what the bar says."""
        await self.settle()
        return self.recorder._said

    async def read_list(self) -> list[str]:
        """Return what the list in the bar says."""
        await self.settle()
        session = await self.page.context.new_cdp_session(self.page)
        tree = await session.send("DOM.getDocument", {"depth": -1, "pierce": True})
        await session.detach()
        (bar,) = [one for one in walk(tree["root"]) if one["nodeName"].lower() == "browsereval-recorder"]
        return [text_of(one).removesuffix(REMOVE) for one in walk(bar) if one["nodeName"] == "LI"]

    async def ids_of(self, target: str) -> list[str]:
        """Return the ids of the elements that a target matches, by Playwright."""
        found: list[str] = await locate(self.page, target).evaluate_all("all => all.map(one => one.id)")
        return found

    @property
    def contents(self) -> list[dict[str, Any]]:
        """What was recorded so far."""
        return [item.content for item in self.recorder.list.items]


async def find_button(page: Page, text: str) -> tuple[float, float]:
    """Return where a button of the bar is, by its text; the DevTools protocol sees closed shadow trees."""
    session = await page.context.new_cdp_session(page)
    try:
        async with asyncio.timeout(20):
            while True:
                tree = await session.send("DOM.getDocument", {"depth": -1, "pierce": True})
                for node in walk(tree["root"]):
                    is_named = node["nodeName"] == "BUTTON" and text_of(node) == text
                    if is_named and is_of_bar(tree["root"], node):
                        found = await session.send("DOM.getBoxModel", {"nodeId": node["nodeId"]})
                        box = found["model"]["content"]
                        return (box[0] + box[4]) / 2, (box[1] + box[5]) / 2
                await asyncio.sleep(0.02)
    finally:
        await session.detach()


def is_of_bar(root: dict[str, Any], node: dict[str, Any]) -> bool:
    bars = [one for one in walk(root) if one["nodeName"].lower() == "browsereval-recorder"]
    return any(one is node for bar in bars for one in walk(bar))


def walk(node: dict[str, Any]) -> Any:
    yield node
    for key in ("children", "shadowRoots"):
        for child in node.get(key, ()):
            yield from walk(child)
    if "contentDocument" in node:
        yield from walk(node["contentDocument"])


def text_of(node: dict[str, Any]) -> str:
    return "".join(one["nodeValue"] for one in walk(node) if one["nodeType"] == 3)
