"""Pictures of a window's pages, and the DevTools sessions that they are taken by."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from pytest_browsereval.browsers.base import PictureFormat
from pytest_browsereval.browsers.picture_size import size_of
from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.tabs import OpenTab
from pytest_browsereval.browsers.playwright.waiting import DialogOpened, DialogWatch, playwright_error
from pytest_browsereval.errors import ErrorSource, Fault, Undrawn

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Frame, Page

T = TypeVar("T")

STUCK_S = 1.0
"""How long a page that did not react is given for its next picture."""


REFUSAL = "Unable to capture screenshot"
"""What Chromium says of a frame that it could not copy; on a busy machine the next one can be."""

PAUSES_S = (0.1, 0.2, 0.4, 0.8, 1.6)
"""How long it is left alone after each refusal; then the picture has failed."""


class Camera:
    """Takes pictures of tabs.

    Args:
        dialogs: those that are open in the window.
        attach: opens a session to a page.
    """

    def __init__(
        self, dialogs: DialogWatch, attach: Callable[[Page], Coroutine[Any, Any, CDPSession]]
    ) -> None:
        self._dialogs = dialogs
        self._attach = attach
        self._density = 1.0
        """Pixels of a picture for each of CSS, as the last one showed: more than 1 where the browser itself
        was started at another scale; a scale that a context is given does not show in pictures."""

    def point_at(self, tab: OpenTab) -> asyncio.Task[CDPSession]:
        """Begin to attach to a tab, so that its first picture need not wait."""
        tab.session = self._dialogs.spawn(self._attach(tab.page))
        return tab.session

    async def session(self, tab: OpenTab) -> CDPSession:
        """Return the session to a tab; one that could not be opened is opened again."""
        session = tab.session
        if session is None or (session.done() and (session.cancelled() or session.exception() is not None)):
            session = self.point_at(tab)
        return await asyncio.shield(session)

    async def picture(
        self, tab: OpenTab | None, picture: PictureFormat, quality: int, limit_s: float
    ) -> bytes:
        """Return a picture of a tab's viewport.

        Raises:
            Fault: source *screenshot*, when the page cannot be drawn.
        """
        return await self._in_time(tab, lambda tab: self._draw(tab, picture, quality), limit_s)

    async def markup(self, tab: OpenTab | None, limit_s: float) -> str:
        """Return the HTML of a tab, with its shadow trees, and then that of its frames.

        Raises:
            Fault: source *screenshot*, when the page does not answer.
        """
        return await self._in_time(tab, self._markup, limit_s)

    async def _in_time(
        self, tab: OpenTab | None, work: Callable[[OpenTab], Coroutine[Any, Any, T]], limit_s: float
    ) -> T:
        if tab is None:
            raise Fault(ErrorSource.SCREENSHOT, "no tab is open")
        if tab.is_crashed:
            raise Fault(ErrorSource.SCREENSHOT, "the page has crashed")
        if self._dialogs.open:
            raise Undrawn(ErrorSource.SCREENSHOT, "a dialog is open, so the page is not drawn")
        # A page that hangs would cost each step of the attempt the whole limit.
        limit_s = STUCK_S if tab.is_stuck else limit_s
        try:
            data = await self._dialogs.watch(work(tab), limit_s)
        except DialogOpened:
            raise Undrawn(ErrorSource.SCREENSHOT, "a dialog opened, so the page is not drawn") from None
        except TimeoutError:
            tab.is_stuck = True
            reason = f"the page {shorten(tab.page.url)} was not drawn within {limit_s:g} s"
        except playwright_error() as error:
            reason = shorten(str(error), 200)
        else:
            tab.is_stuck = False
            return data
        raise Fault(ErrorSource.SCREENSHOT, reason)

    async def _draw(self, tab: OpenTab, picture: PictureFormat, quality: int) -> bytes:
        """Draw a tab, again where Chromium refuses to."""
        for pause_s in PAUSES_S:
            try:
                return await self._draw_once(tab, picture, quality)
            except playwright_error() as error:
                if REFUSAL not in str(error) or tab.is_crashed:
                    raise
                await asyncio.sleep(pause_s)
        return await self._draw_once(tab, picture, quality)

    async def _draw_once(self, tab: OpenTab, picture: PictureFormat, quality: int) -> bytes:
        options: dict[str, Any] = {} if picture == "png" else {"quality": quality}
        try:
            session = await self.session(tab)
            return await self._in_css_pixels(session, tab.page, {"format": picture, **options})
        except playwright_error():
            if tab.is_crashed:
                raise
            tab.session = None
            # Slower, but Playwright attaches by itself: our own session may be lost.
            return await tab.page.screenshot(type=picture, scale="css", **options)

    async def _in_css_pixels(self, session: CDPSession, page: Page, options: dict[str, Any]) -> bytes:
        """Draw a page, once more if the picture is not as wide as the viewport."""
        data = await self._capture(session, page, options)
        size, viewport = size_of(data), page.viewport_size
        # A browser that was started at another scale draws larger pictures, and does not say so.
        if size is None or viewport is None or abs(size[0] - viewport["width"]) < 1:
            return data
        self._density *= size[0] / viewport["width"]
        return await self._capture(session, page, options)

    async def _capture(self, session: CDPSession, page: Page, options: dict[str, Any]) -> bytes:
        viewport = page.viewport_size
        if self._density != 1.0 and viewport is not None:
            seen = (await session.send("Page.getLayoutMetrics"))["cssVisualViewport"]
            zoom = seen["scale"]
            clip = {"x": seen["pageX"], "y": seen["pageY"], "scale": zoom / self._density}
            clip |= {name: length / zoom for name, length in viewport.items()}
            options = {**options, "clip": clip}
        reply = await session.send("Page.captureScreenshot", options)
        return base64.b64decode(reply["data"])

    async def _markup(self, tab: OpenTab) -> str:
        # Not page.content(): that leaves shadow trees out. The page's own scripts have no say in either.
        session = await self.session(tab)
        found = await session.send("Runtime.evaluate", {"expression": "document"})
        document = {"objectId": found["result"]["objectId"], "includeShadowDOM": True}
        whole: str = (await session.send("DOM.getOuterHTML", document))["outerHTML"]
        await session.send("Runtime.releaseObject", {"objectId": document["objectId"]})
        # A frame without an address waits to be seen before it loads, and answers nothing until then.
        frames = [frame for frame in tab.page.frames[1:] if frame.url]
        return whole + "".join([await _read_frame(frame) for frame in frames])


async def _read_frame(frame: Frame) -> str:
    # Two hyphens would end the comment.
    url = frame.url.replace("--", "%2D%2D")
    try:
        return f"\n<!-- frame {url} -->\n{await frame.content()}"
    except playwright_error():
        return f"\n<!-- frame {url}: it has gone -->\n"
