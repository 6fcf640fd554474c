"""Keeps a window's requests to the origins that it may load."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_browsereval.browsers.origin_filter import OriginFilter
from pytest_browsereval.browsers.playwright.origins import AllowedOrigins, origin_of, shorten
from pytest_browsereval.browsers.playwright.tabs import Notes
from pytest_browsereval.browsers.playwright.waiting import DialogWatch, quietly

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Frame, Route, WebSocketRoute

_ERROR_PAGE = "chrome-error:"
ROUTE_S = 30.0
"""How long the browser may take to hear what becomes of a request."""


class OriginGuard:
    """Aborts requests to other origins and tells of them.

    Args:
        allowed: what may be loaded.
        notes: takes what was not loaded.
        background: where answers to the browser are awaited.
        behind: sees what Playwright does not ask about; None where no filter can be.
    """

    def __init__(
        self,
        allowed: AllowedOrigins,
        notes: Notes,
        background: DialogWatch,
        behind: OriginFilter | None = None,
    ) -> None:
        self.allowed = allowed
        self._latest = ""
        """What the filter has refused last, until a page shows that it failed."""
        if behind is not None:
            behind.on_refused, behind.on_unreachable = self._on_refused, notes.warn
        self._notes = notes
        self._background = background

    async def watch(self, context: BrowserContext) -> None:
        """Begin to look at every request of a context, unless everything is allowed."""
        if self.allowed:
            await context.route("**/*", self._on_request)
            await context.route_web_socket("**/*", self._on_web_socket)

    def on_navigated(self, frame: Frame) -> None:
        """Leave a page again that is not allowed; tell of one that the filter has refused."""
        # The filter sees hosts only: that a page failed for it shows here.
        if self._latest and frame.url.startswith(_ERROR_PAGE):
            self._tell(self._latest)
            self._latest = ""
        if not self.allowed.allow(frame.url):
            self._tell(frame.url)
            # A redirect was answered before anybody asked us; Playwright routes the first request only.
            self._background.spawn(frame.goto("about:blank"))

    async def _on_request(self, route: Route) -> None:
        request = route.request
        if self.allowed.allow(request.url):
            await quietly(route.continue_(), ROUTE_S)
            return
        self._tell(request.url, is_page=request.is_navigation_request())
        await quietly(route.abort("blockedbyclient"), ROUTE_S)

    def _on_web_socket(self, route: WebSocketRoute) -> None:
        if self.allowed.allow(route.url):
            route.connect_to_server()
        else:
            self._tell(route.url, is_page=False)
            self._background.spawn(route.close())

    def _on_refused(self, url: str) -> None:
        self._latest = url
        self._tell(url, is_page=False)

    def _tell(self, url: str, *, is_page: bool = True) -> None:
        place = origin_of(url) if "://" in url else url
        text = f"{shorten(place)} was blocked: it is not among the allowed origins."
        self._notes.warn(text)
        if is_page:
            self._notes.say(text)
