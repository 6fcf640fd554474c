"""Reads other pages of a site, in a tab next to that of the agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pytest_browsereval.browsers.playwright.tabs import NoTab
from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.observing import describe_broken
from pytest_browsereval.redaction.known import beginning

OPEN_LIMIT_S = 12.0
"""For opening another page."""


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
        Fault: source *grader*: the page cannot be opened in time, or its server breaks.
    """
    late = f"{url} did not open within {OPEN_LIMIT_S:g} s"
    async with limit_work(OPEN_LIMIT_S, late, f"{url} cannot be opened"):
        await window.goto(url)
    if broken := describe_broken(window):
        raise GraderFault(f"{url} cannot be opened: {broken}")


@asynccontextmanager
async def limit_work(limit_s: float, late: str, broken: str) -> AsyncIterator[None]:
    """Limit the time of what is done with a page.

    Args:
        limit_s: how long it may take.
        late: the message of the fault where it takes longer.
        broken: that where Playwright fails, whose reason follows.

    Raises:
        Fault: source *grader*: the page does not do it in time, or not at all.
    """
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError:
        raise GraderFault(late) from None
    except playwright_error() as error:
        raise GraderFault(f"{broken}: {beginning(str(error).splitlines()[0], 200)}") from None
