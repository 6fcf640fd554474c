"""Tells of what the filter in front of a window has refused, and leaves pages that are not allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_browsereval.browsers.origin_filter import OriginFilter
from pytest_browsereval.browsers.playwright.origins import AllowedOrigins, origin_of, shorten
from pytest_browsereval.browsers.playwright.tabs import Notes
from pytest_browsereval.browsers.playwright.waiting import DialogWatch

if TYPE_CHECKING:
    from playwright.async_api import Frame

_ERROR_PAGE = "chrome-error:"


class OriginGuard:
    """Tells the agent and the report of what was not loaded.

    Args:
        allowed: what may be loaded.
        notes: takes what was not loaded.
        background: where answers to the browser are awaited.
        behind: the filter that all traffic goes through; None where everything is allowed.
    """

    def __init__(
        self, allowed: AllowedOrigins, notes: Notes, background: DialogWatch, behind: OriginFilter | None
    ) -> None:
        self._allowed = allowed
        self._latest = ""
        """What the filter has refused last, until a page shows that it failed."""
        if behind is not None:
            behind.on_refused, behind.on_unreachable = self._on_refused, notes.warn
        self._notes = notes
        self._background = background

    def on_navigated(self, frame: Frame) -> None:
        """Leave a page again that is not allowed; tell of one that the filter has refused."""
        # The filter sees hosts only: that a page failed for it shows here.
        if self._latest and frame.url.startswith(_ERROR_PAGE):
            self._notes.say(self._warn(self._latest))
            self._latest = ""
        if not self._allowed.allow(frame.url):
            self._notes.say(self._warn(frame.url))
            self._background.spawn(frame.goto("about:blank"))

    def _on_refused(self, url: str) -> None:
        self._latest = url
        self._warn(url)

    def _warn(self, url: str) -> str:
        place = origin_of(url) if "://" in url else url
        text = f"{shorten(place)} was blocked: it is not among the allowed origins."
        self._notes.warn(text)
        return text
