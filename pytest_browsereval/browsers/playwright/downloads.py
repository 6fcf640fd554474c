"""The downloads of a window, waited for as long as a call may wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.waiting import playwright_error, quietly

if TYPE_CHECKING:
    from playwright.async_api import Download

MOST_LISTED = 5
"""Downloads that one call tells of."""


def is_download(error: Exception) -> bool:
    """Tell whether a navigation has failed because the address is downloaded, as Chromium reports it."""
    return "Download is starting" in str(error)


class Downloads:
    """Those that the agent does not know of yet."""

    def __init__(self) -> None:
        self.keep: Callable[[Download], Awaitable[str]] = describe_download
        """Awaits the end of a download, and returns a sentence about it."""
        self.folder: Path | None = None
        """The attempt's folder, if they are kept there."""
        self.count = 0
        """How many have begun."""
        self._fresh: list[asyncio.Task[str]] = []
        self._late: list[asyncio.Task[str]] = []
        """Those that were under way when the agent was told of them."""
        self.loading: dict[asyncio.Task[str], str] = {}
        """Those that have not ended, by the names that pages suggest."""
        self.is_over = False
        """Whether nothing is waited for any more."""
        self._expected = 0
        self._begun = asyncio.Event()

    def expect(self, *, may_have_begun: bool = False) -> None:
        """A download was asked for: Chromium tells of it once the server has answered."""
        if not (may_have_begun and self._fresh):
            self._expected += 1
            self._begun.clear()

    def on_download(self, download: Download) -> None:
        """Remember one that has begun."""
        name = f"download of {shorten(download.suggested_filename, 80)!r}"
        task = asyncio.get_running_loop().create_task(self._end(download), name=name)
        self._fresh.append(task)
        self.loading[task] = download.suggested_filename
        task.add_done_callback(self.loading.pop)
        self.count += 1
        self._expected = max(0, self._expected - 1)
        if not self._expected:
            self._begun.set()

    async def _end(self, download: Download) -> str:
        try:
            return await self.keep(download)
        except (OSError, playwright_error()) as error:
            why = shorten(str(error).partition(": ")[2] or str(error), 80)
            return f"The download of {shorten(download.suggested_filename, 80)!r} failed: {why}."

    async def begin(self, limit_s: float) -> None:
        """Wait, within a limit, for those to begin that were asked for."""
        if self._expected:
            await quietly(self._begun.wait(), limit_s)
        self._expected = 0

    async def take(self, limit_s: float, *, is_end: bool = False) -> list[str]:
        """Return a sentence for each, once all that have begun are complete or the time is up.

        Args:
            limit_s: how long to wait.
            is_end: wait for those too that were waited for before.
        """
        late, fresh = self._late, self._fresh
        self._late, self._fresh = [], []
        if waited := [*late, *fresh] if is_end else fresh:
            await asyncio.wait(waited, timeout=limit_s)
        self.is_over |= is_end
        said = []
        for ending in (*late, *fresh):
            if ending.done():
                said.append(ending.result())
                continue
            self._late.append(ending)
            if is_end or ending in fresh:
                said.append(f"The {ending.get_name()} is not complete yet.")
        more = len(said) - MOST_LISTED
        return [*said[:MOST_LISTED], f"{more} more files were downloaded."] if more > 0 else said


async def describe_download(download: Download) -> str:
    """Return a sentence about a download that is not kept: Playwright deletes the file with its context.

    Raises:
        OSError: its size cannot be read.
        playwright.Error: it failed.
    """
    size = (await download.path()).stat().st_size
    return f"Downloaded file name {shorten(download.suggested_filename, 80)!r} ({size} bytes)."
