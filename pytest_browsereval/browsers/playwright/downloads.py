"""The files that a window's pages download."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.waiting import quietly

if TYPE_CHECKING:
    from playwright.async_api import Download

MOST_LISTED = 5


class Downloads:
    """Those that the agent does not know of yet."""

    def __init__(self) -> None:
        self._fresh: list[Download] = []
        self._begun = asyncio.Event()

    def on_download(self, download: Download) -> None:
        """Remember one that has begun."""
        self._fresh.append(download)
        self._begun.set()

    async def begin(self, limit_s: float) -> None:
        """Wait, within a limit, for one to begin."""
        await quietly(self._begun.wait(), limit_s)

    async def take(self, limit_s: float) -> AsyncIterator[str]:
        """Yield a sentence for each; each download is waited for within the limit."""
        fresh, self._fresh = self._fresh, []
        self._begun.clear()
        for download in fresh[:MOST_LISTED]:
            yield await _describe_download(download, limit_s)
        if len(fresh) > MOST_LISTED:
            yield f"{len(fresh) - MOST_LISTED} more files were downloaded."


async def _describe_download(download: Download, limit_s: float) -> str:
    name = shorten(download.suggested_filename, 80)
    # Playwright deletes the file with its context: its size is read now.
    path = await quietly(download.path(), limit_s)
    if path is None:
        return f"The download of {name!r} failed or is not complete yet."
    return f"Downloaded file name {name!r} ({path.stat().st_size} bytes)."
