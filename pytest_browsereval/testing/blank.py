"""``browser: blank``: windows without a page, for tests of evals whose rows look at none.

A run with it starts no browser, which saves nine tenths of the time of a small eval. Rows that have a
start page are errored (*navigation*), and tools that act on a page fail.
"""

from __future__ import annotations

import io
import itertools
from functools import cache
from typing import ClassVar, Literal

from pytest_browsereval.browsers.base import Browser, BrowserConfig, PictureFormat, Tab, Window, WindowRequest
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.registry import Registry

ADDRESS = "about:blank"

_window_ids = itertools.count(1)


class BlankBrowserConfig(BrowserConfig):
    """``browser: blank``."""

    type: Literal["blank"] = "blank"

    has_page: ClassVar[bool] = False

    def build(self) -> BlankBrowser:
        """Return the browser, which has nothing to start."""
        return BlankBrowser()


class BlankBrowser(Browser):
    """Opens windows at once and keeps nothing."""

    description = "blank windows, no browser"

    async def start(self) -> None:
        """Start nothing."""

    async def open_window(self, request: WindowRequest) -> Window:
        """Open a window.

        Raises:
            Fault: source *navigation*, when the row has a start page.
        """
        if request.start_url is not None:
            raise Fault(
                ErrorSource.NAVIGATION,
                f"a blank window has no page, and the row starts at {request.start_url}. Give the row no "
                "start_url, or use `browser: playwright`",
            )
        window = BlankWindow()
        if request.opened is not None:
            await request.opened(window)
        return window

    async def close(self) -> None:
        """Close nothing."""


class BlankWindow(Window):
    """A window with one tab, in which nothing is."""

    tab_id = 1
    dead = None

    def __init__(self) -> None:
        self.window_id = next(_window_ids)

    @property
    def url(self) -> str:
        """The address of an empty tab."""
        return ADDRESS

    async def tabs(self) -> list[Tab]:
        """Return the one tab."""
        return [Tab(self.tab_id, ADDRESS, "", is_current=True)]

    async def screenshot(self, picture: PictureFormat = "jpeg", quality: int = 80) -> bytes:
        """Return a white picture."""
        return _white(picture, quality)

    async def markup(self) -> str:
        """Return the HTML of an empty page."""
        return "<html><head></head><body></body></html>"

    async def close(self) -> None:
        """Close nothing."""


@cache
def _white(picture: PictureFormat, quality: int) -> bytes:
    from PIL import Image

    data = io.BytesIO()
    Image.new("RGB", (64, 36), "white").save(data, picture, quality=quality)
    return data.getvalue()


def pytest_browsereval_register(registry: Registry) -> None:
    """Make the browser known."""
    registry.register(BlankBrowserConfig)
