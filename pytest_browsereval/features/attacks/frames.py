"""The frames of a page, of which some do not answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pytest_browsereval.browsers.playwright.waiting import quietly

if TYPE_CHECKING:
    from playwright.async_api import Frame, Page

_ANSWER_S = 2.0
"""How long an open document may take to answer."""


def list_frames(page: Page) -> list[Frame]:
    """Return those that have a document.

    A frame that waits to be seen before it loads has no address yet, and answers nothing until then.
    """
    return [frame for frame in page.frames if frame.url]


async def evaluate_in_frames(page: Page, script: str) -> None:
    """Evaluate a script in all documents of a page that are open now."""
    # One may have gone meanwhile; or a dialog holds it up.
    await asyncio.gather(*(quietly(frame.evaluate(script), _ANSWER_S) for frame in list_frames(page)))
