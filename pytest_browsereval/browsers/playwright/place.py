"""Where a window is, and what it may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_browsereval.browsers.playwright.origins import EVERYTHING, AllowedOrigins

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page

    from pytest_browsereval.browsers.origin_filter import OriginFilter


@dataclass(frozen=True)
class WindowRules:
    """Limits of a window."""

    allowed: AllowedOrigins = EVERYTHING
    action_s: float = 5.0
    """How long an action waits for its element."""
    navigation_s: float = 30.0
    """How long a navigation may take until the document is there."""
    load_s: float = 5.0
    """How much longer pictures, frames, new tabs and downloads are waited for."""
    title_s: float = 3.0
    """How long a title, or the options of a list, are waited for, which only complete what is said."""
    picture_s: float = 5.0
    close_s: float = 5.0
    max_tabs: int = 20
    """Pages that are opened beyond this number are closed at once."""


@dataclass(frozen=True)
class Place:
    """The context that a window is in.

    A window has a context to itself, with all its pages, and closes it; or it is a guest in a context that
    was there before and stays, and then has only the pages that it opened, and those that these opened.
    """

    context: BrowserContext
    cdp_url: str | None = None
    """Where a program of another process attaches. Every page of the context is a tab of the window then, and
    the one that was opened, navigated, clicked or typed in last is current."""
    is_guest: bool = False
    """True: the context is not the window's to close."""
    origins: OriginFilter | None = None
    """What its traffic goes through; it ends with the window."""
    viewport: tuple[int, int] | None = None
    """A guest sets the size of its pages itself."""

    def has_all_pages(self) -> bool:
        """Tell whether every page that opens in the context is a tab of the window."""
        return self.cdp_url is not None or not self.is_guest

    async def show(self, page: Page) -> None:
        """Give a page the size that it is to have."""
        if self.viewport is not None:
            width, height = self.viewport
            await page.set_viewport_size({"width": width, "height": height})
