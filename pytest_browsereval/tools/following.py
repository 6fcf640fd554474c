"""Waits for what raw input has begun to load: Playwright does so only for what an element is asked to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.tabs import NoTab
from pytest_browsereval.browsers.playwright.waiting import playwright_error, quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow

if TYPE_CHECKING:
    from playwright.async_api import Frame, Request

DRAWN = """new Promise((go) => {
  requestAnimationFrame(() => setTimeout(go));
  setTimeout(go, 100);  // a page that is not drawn has no frames
})"""
"""Ends once the page has had the time to put another value there, or to begin a navigation: it does so in
the handlers of its events, or when it draws the next frame."""
_DRAWN_S = 1.0
"""How long that may take. Only here a page is asked by its own clocks, which it may have stopped."""
_COMMIT_S = 0.5
"""A document that has been answered takes the place of the old one sooner; a download never does."""


async def await_frame(window: PlaywrightWindow) -> None:
    """Let the page have the time to react."""

    async def wait() -> None:
        with suppress(NoTab):  # the page was closed
            session = await window.cdp_session(window.page)
            await session.send("Runtime.evaluate", {"expression": DRAWN, "awaitPromise": True})

    await quietly(wait(), _DRAWN_S)


@asynccontextmanager
async def follow_input(window: PlaywrightWindow) -> AsyncIterator[None]:
    """Wait, within limits, until documents that the input of this block asks for are there, in frames too."""
    page, asked, came = window.page, list["Request"](), dict["Frame", asyncio.Event]()

    def note_request(request: Request) -> None:
        if request.is_navigation_request():
            asked.append(request)

    def note_document(frame: Frame) -> None:
        came.setdefault(frame, asyncio.Event()).set()

    page.on("request", note_request)
    page.on("framenavigated", note_document)
    try:
        yield
        await await_frame(window)
        await _await_documents(window, asked, came)
    finally:
        page.remove_listener("request", note_request)
        page.remove_listener("framenavigated", note_document)


def follow_frames(window: PlaywrightWindow) -> AbstractAsyncContextManager[None]:
    """Wait for documents of frames: what an element is asked to do waits for those of the page by itself."""
    return follow_input(window) if window.page.frames[1:] else nullcontext()


async def _await_documents(
    window: PlaywrightWindow, asked: list[Request], came: dict[Frame, asyncio.Event]
) -> None:
    try:
        async with asyncio.timeout(window.rules.load_s):
            for request in asked:  # it grows where one is redirected
                if await request.response() is None or request.redirected_to is not None:
                    continue
                await quietly(came.setdefault(request.frame, asyncio.Event()).wait(), _COMMIT_S)
                await request.frame.wait_for_load_state("domcontentloaded")
    except TimeoutError:
        window.say(f"The page is still loading: {shorten(asked[-1].url, 100)}.")
    except playwright_error():
        pass  # a frame has gone
