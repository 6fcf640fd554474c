"""How windows are opened in a Chromium, whoever has launched it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.chromium import AT_ONCE, Connection
from pytest_browsereval.browsers.place import WindowRules
from pytest_browsereval.browsers.playwright import PlaywrightBrowser, PlaywrightBrowserConfig
from pytest_browsereval.browsers.windows import PlaywrightWindow
from tests.support import PageServer, Run, running, until


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
        count = AT_ONCE + 3
        lanes = [asyncio.ensure_future(browser.open_window(WindowRequest(str(n), url))) for n in range(count)]
        await until(lambda: len(opening) == AT_ONCE)
        slow.set()
        windows = await asyncio.gather(*lanes)
        assert [await window.page.title() for window in windows] == ["Turn"] * count
        assert (len(most), max(most)) == (count, AT_ONCE)
        for window in windows:
            await window.close()

    monkeypatch.setattr(Connection, "new_window", opened)
    with running(PlaywrightBrowserConfig(), run) as browser:
        run(asyncio.wait_for(stampede(browser), 120))
