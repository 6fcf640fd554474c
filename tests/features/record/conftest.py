"""A recorder at work, and a person's hands: real clicks and keys in a real window."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.features.record.recorder import Recorder
from pytest_browsereval.features.record.steps import Item, ItemList
from tests.features.record.hands import Hands, hold
from tests.support import PageServer, Run, patience

__all__ = ["patience"]

Act = Callable[[Hands], Awaitable[None]]
Record = Callable[..., Any]


@pytest.fixture
def record(run: Run, browser: PlaywrightBrowser, pages: PageServer) -> Record:
    """Return a function that records what is done with a page, and returns the items; None if cancelled."""

    async def work(url: str, act: Act, *, finishes: bool, known: tuple[str, ...]) -> list[Item] | None:
        window = await browser.open_window(WindowRequest("record", url))
        assert isinstance(window, PlaywrightWindow)
        try:
            recorder = Recorder(window, ItemList(known), hold)
            await recorder.begin()
            hands = Hands(window, recorder)
            await hands.ready()
            await act(hands)
            if not finishes:
                await hands.settle()
                hands.waiting.cancel()
                return recorder.list.items
            return recorder.list.items if await asyncio.wait_for(hands.waiting, 20) else None
        finally:
            await window.close()

    def run_it(
        body: str,
        act: Act,
        *,
        path: str = "/",
        finishes: bool = False,
        known: tuple[str, ...] = (),
        **options: Any,
    ) -> list[Item] | None:
        url = pages.page(path, f"<!doctype html><title>Page</title><body>{body}", **options)
        return run(work(url, act, finishes=finishes, known=known))

    return run_it
