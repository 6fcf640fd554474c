"""The page on which a clone of REAL shows its final state, read in a tab beside the agent's own."""

from __future__ import annotations

import asyncio

from pydantic import JsonValue

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.further_tab import open_further_tab, open_page
from pytest_browsereval.graders.observing import LivePage, live_page, parse_state
from pytest_browsereval.graders.page_values import NoValue
from pytest_browsereval.graders.values import show

TRIES = 20
POLL_S = 0.5

_SHOWN = "document.querySelector('pre')?.innerText"


async def read_finish(window: Window, url: str) -> JsonValue:
    """Return the JSON that a page shows in its first ``<pre>``, once there is some.

    Args:
        window: of the attempt; its current tab is the same one afterwards.
        url: of the page.

    Raises:
        Fault: source *grader*: the page cannot be opened, or shows no JSON.
    """
    async with live_page(window):
        pass  # says what is wrong with a window that cannot be read, and answers its dialogs
    assert isinstance(window, PlaywrightWindow)  # noqa: S101 live_page takes no other
    async with open_further_tab(window):
        await open_page(window, url)
        async with live_page(window) as page:
            return await _poll(page, url)


async def _poll(page: LivePage, url: str) -> JsonValue:
    problem = "it has no <pre> element"
    # The page writes its state by script, some time after it has loaded.
    for number in range(TRIES):
        if number:
            await asyncio.sleep(POLL_S)
        try:
            # In a world of its own: a page that the agent could change has no say in its score.
            text = await page.isolated_value(_SHOWN)
            if isinstance(text, str) and text.strip():
                return parse_state(text)
        except NoValue as error:
            problem = str(error)
    raise GraderFault(f"{url} shows no state: {show(problem, 200)}")
