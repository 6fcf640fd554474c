"""A tab of the attempt's window beside the agent's own, for graders that look at other pages of a site."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pytest_browsereval.browsers.playwright.tabs import NoTab
from pytest_browsereval.browsers.playwright.waiting import is_playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.redaction.known import beginning

OPEN_LIMIT_S = 12.0


@asynccontextmanager
async def open_further_tab(window: PlaywrightWindow) -> AsyncIterator[None]:
    """Open a tab of the window and come back to its current one; use that where no more may be opened."""
    here = window.tab_id
    try:
        mine = await window.open_tab()
    except NoTab:
        # A browser may hold one tab only; then the agent's own one is used, since its work is over.
        yield
        return
    try:
        yield
    finally:
        try:
            await window.close_tab(mine)
            await window.select_tab(here)
        except NoTab:
            pass  # its page has gone by itself


async def open_page(window: PlaywrightWindow, url: str) -> None:
    """Navigate the current tab.

    Raises:
        Fault: source *grader*: the page cannot be opened in time.
    """
    try:
        async with asyncio.timeout(OPEN_LIMIT_S):
            await window.goto(url)
    except TimeoutError:
        raise GraderFault(f"{url} did not open within {OPEN_LIMIT_S:g} s") from None
    except Exception as error:
        if not is_playwright_error(error):
            raise
        why = beginning(str(error).splitlines()[0], 200)
        raise GraderFault(f"{url} cannot be opened: {why}") from None
