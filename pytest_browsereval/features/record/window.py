"""A window that a person can work in: its page is as large as the window lets it be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowserConfig
from pytest_browsereval.browsers.playwright.contexts import DEFAULT_VIEWPORT
from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.browsers.playwright.world import ask_apart

ANSWER_S = 5.0
_SIZES = """() => [outerWidth - innerWidth, outerHeight - innerHeight, screen.availWidth, screen.availHeight,
  screen.availLeft, screen.availTop]"""


class ShownBrowserConfig(PlaywrightBrowserConfig):
    """A browser whose pages follow their windows, unless they are those of a phone."""

    def context_options(
        self, request: WindowRequest, devices: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Return the keyword arguments for Playwright's ``new_context``."""
        options = super().context_options(request, devices)
        if options.get("is_mobile"):
            return options
        held = ("viewport", "device_scale_factor", "screen")
        return {"no_viewport": True, **{key: value for key, value in options.items() if key not in held}}


async def fit_window(window: PlaywrightWindow, viewport: Mapping[str, int] | None) -> None:
    """Make a window so large that its page has a size, or as large as the screen has room for."""
    if window.viewport is not None:
        return
    size, page = viewport or DEFAULT_VIEWPORT, window.page
    session = await window.cdp_session(page)
    sizes = await quietly(ask_apart(page, _SIZES, limit_s=ANSWER_S), ANSWER_S)
    found = await quietly(session.send("Browser.getWindowForTarget"), ANSWER_S)
    if not sizes or not found:
        return
    more_width, more_height, most_width, most_height, left, top = map(int, sizes)
    bounds = {
        "left": left,
        "top": top,
        "width": min(size["width"] + more_width, most_width),
        "height": min(size["height"] + more_height, most_height),
    }
    asked = session.send("Browser.setWindowBounds", {"windowId": found["windowId"], "bounds": bounds})
    await quietly(asked, ANSWER_S)
