"""A page that loops for ever when it is told to."""

from __future__ import annotations

import asyncio

import pytest

from tests.support import PageServer, Visit, until

LOOP = """<button onclick='const asked = new XMLHttpRequest(); asked.open("GET", "/looping", false);
asked.send(); for(;;);'>loop</button>"""
"""It asks the server for something just before, so that a test knows when it loops."""


def hang(visit: Visit, pages: PageServer) -> None:
    """Let the page loop for ever."""
    before = pages.requests.count("/looping")

    async def click() -> None:
        clicking = asyncio.ensure_future(visit.window.watch(visit.window.page.click("button"), 60))
        await until(lambda: pages.requests.count("/looping") > before)
        clicking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await clicking

    visit.run(click())
