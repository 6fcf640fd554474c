"""How windows are opened in a Chromium, whoever has launched it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright import chromium
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser, PlaywrightBrowserConfig
from pytest_browsereval.browsers.playwright.chromium import Connection
from pytest_browsereval.browsers.playwright.place import WindowRules
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from tests.support import PageServer, Run, running, until


@pytest.mark.slow
def test_windows_are_opened_a_few_at_a_time(
    run: Run, pages: PageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others wait for their turn, in the same browser."""
    url = pages.page("/turn", "<title>Turn</title>")
    open_one, opening, most, slow = Connection.new_window, list[str](), list[int](), asyncio.Event()

    async def opened(connection: Connection, options: dict[str, Any], rules: WindowRules) -> PlaywrightWindow:
        opening.append("begun")
        most.append(len(opening))
        try:
            await slow.wait()
            return await open_one(connection, options, rules)
        finally:
            opening.pop()

    async def stampede(browser: PlaywrightBrowser) -> None:
        lanes = [asyncio.ensure_future(browser.open_window(WindowRequest(str(n), url))) for n in range(5)]
        await until(lambda: len(opening) == 2)
        slow.set()
        windows = await asyncio.gather(*lanes)
        assert [await window.page.title() for window in windows] == ["Turn"] * 5
        assert (len(most), max(most)) == (5, 2)
        for window in windows:
            await window.close()

    monkeypatch.setattr(chromium, "AT_ONCE", 2)
    monkeypatch.setattr(Connection, "new_window", opened)
    with running(PlaywrightBrowserConfig(), run) as browser:
        run(asyncio.wait_for(stampede(browser), 120))
