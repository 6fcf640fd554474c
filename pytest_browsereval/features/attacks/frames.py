"""The frames of a page, of which some do not answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pytest_browsereval.browsers.playwright.waiting import playwright_error

if TYPE_CHECKING:
    from playwright.async_api import Frame, Page

_ANSWER_S = 2.0
"""How long an open document may take to answer."""


def list_frames(page: Page) -> list[Frame]:
    """Return those that have a document.

    A frame that waits to be seen before it loads has no address yet, and answers nothing until then.
    """
    return [frame for frame in page.frames if frame.url]


async def evaluate_in_frames(page: Page, script: str) -> str:
    """Evaluate a script in all documents of a page that are open now.

    Returns:
        The first line of why it is not JavaScript; empty if it is, and if no document answers.
    """
    works = [asyncio.wait_for(frame.evaluate(script), _ANSWER_S) for frame in list_frames(page)]
    # A document may have gone meanwhile; or a dialog holds it up.
    for found in await asyncio.gather(*works, return_exceptions=True):
        if isinstance(found, playwright_error()) and "SyntaxError" in str(found):
            return str(found).partition("\n")[0]
        if isinstance(found, BaseException) and not isinstance(found, (TimeoutError, playwright_error())):
            raise found
    return ""
