"""The frames of a page, of which some do not answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.async_api import Frame, Page


def list_frames(page: Page) -> list[Frame]:
    """Return those that have a document.

    A frame that waits to be seen before it loads has no address yet, and answers nothing until then.
    """
    return [frame for frame in page.frames if frame.url]
