"""``dom/001.html``, ...: the page's markup after each action, made harmless to open."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.capture.screenshots import write_new
from pytest_browsereval.redaction.text import well_formed

DOM_FOLDER = "dom"
"""Its name in the attempt's folder."""

INERT = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; "
    "form-action 'none'; base-uri 'none'\">\n"
)
"""Before anything that is the page's: opened in a browser it runs no script and asks for nothing."""

_HTTP_EQUIV = re.compile(r"\bhttp-equiv(?=\s*=)", re.IGNORECASE)
"""What a page uses to lead a reader on to another one by itself: no policy of content stops that."""

LONGEST = 4_000_000
"""Characters of a page that are kept."""


class DomCapture:
    """Writes the markup of a window's page into files that are numbered without gaps.

    Args:
        window: whose page it is.
        folder: the attempt's folder.
        redact: replaces secrets in a text, wherever they stand in it.
    """

    def __init__(self, window: Window, folder: Path, redact: Callable[[str], str]) -> None:
        self._window = window
        self._folder = folder / DOM_FOLDER
        self._redact = redact
        self.count = 0
        """How many files there are."""

    def path(self, number: int) -> Path:
        """Return the file of a number."""
        return self._folder / f"{number:03d}.html"

    async def capture(self) -> int:
        """Write the page as it is now and return the file's number, from 1.

        Raises:
            Fault: source *screenshot*, when the page does not answer.
            OSError: the file could not be written.
        """
        markup = await self._window.markup()
        self.count += 1  # before anything is awaited again: parallel calls have numbers of their own
        number = self.count
        try:
            await asyncio.to_thread(self._write, number, markup)
        except BaseException:
            self.count -= number == self.count
            raise
        return number

    def _write(self, number: int, markup: str) -> None:
        self._folder.mkdir(exist_ok=True)
        # Redacted before it is cut: half a secret is not found.
        safe = _HTTP_EQUIV.sub("data-http-equiv", self._redact(well_formed(markup)))
        left_out = len(safe) - LONGEST
        if left_out > 0:
            safe = f"{safe[:LONGEST]}\n<!-- {left_out} characters are left out -->"
        write_new(self.path(number), f"{INERT}{safe}\n".encode())
