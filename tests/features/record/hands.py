"""A person's hands: they press what the bar shows, where it shows it, and wait for what it says."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.features.record.recorder import Recorder

if TYPE_CHECKING:
    from playwright.async_api import Page


class Hands:
    """Those of a person in front of a window.

    Args:
        window: in which it is recorded.
        recorder: at work.
    """

    def __init__(self, window: PlaywrightWindow, recorder: Recorder) -> None:
        self.window = window
        self.recorder = recorder
        self.page: Page = window.page

    async def ready(self) -> None:
        """Wait until the bar is there and nothing that was done is still to be recorded."""
        await find_button(self.page, "Finish")
        await self.settle()

    async def settle(self) -> None:
        """Wait until all that was done is recorded: what was heard last is what is done last."""
        for view in self.recorder._views:  # what the page has reported comes before its answer
            await quietly(view.session.send("Runtime.evaluate", {"expression": "1"}), 20)
        await asyncio.wait_for(self.recorder._heard.join(), 20)

    async def press(self, button: str) -> None:
        """Press a button of the bar with the mouse."""
        await self.page.mouse.click(*await find_button(self.page, button))
        await self.settle()

    async def said(self) -> str:
        """Return what the bar says."""
        await self.settle()
        return self.recorder._said

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
                    if (
                        node["nodeName"] == "BUTTON"
                        and text_of(node) == text
                        and await is_of_bar(tree["root"], node)
                    ):
                        box = (await session.send("DOM.getBoxModel", {"nodeId": node["nodeId"]}))["model"][
                            "content"
                        ]
                        return (box[0] + box[4]) / 2, (box[1] + box[5]) / 2
                await asyncio.sleep(0.02)
    finally:
        await session.detach()


async def is_of_bar(root: dict[str, Any], node: dict[str, Any]) -> bool:
    (bar,) = [one for one in walk(root) if one["nodeName"].lower() == "browsereval-recorder"] or [{}]
    return any(one is node for one in walk(bar))


def walk(node: dict[str, Any]) -> Any:
    yield node
    for key in ("children", "shadowRoots"):
        for child in node.get(key, ()):
            yield from walk(child)
    if "contentDocument" in node:
        yield from walk(node["contentDocument"])


def text_of(node: dict[str, Any]) -> str:
    return "".join(one["nodeValue"] for one in walk(node) if one["nodeType"] == 3)
