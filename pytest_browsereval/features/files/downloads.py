"""Keeps what pages download: within limits, under safe names, without secrets."""

from __future__ import annotations

import asyncio
import re
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.origins import shorten
from pytest_browsereval.browsers.playwright.waiting import is_closed_error, playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.downloads import DOWNLOADS, INDEX, Download
from pytest_browsereval.config.model import DownloadLimits
from pytest_browsereval.datasets.ids import RESERVED
from pytest_browsereval.features.shared.redaction import is_packed, redact_file

if TYPE_CHECKING:
    from playwright.async_api import Download as Loading

LONGEST_NAME = 100
LONGEST_URL = 500


class Keeper:
    """Keeps the downloads of an attempt.

    Args:
        folder: of the attempt.
        limits: how much is kept.
        redact: takes secrets out of a text.
    """

    def __init__(self, folder: Path, limits: DownloadLimits, redact: Callable[[str], str]) -> None:
        self._folder, self._limits, self._redact = folder, limits, redact
        self._names: set[str] = set()
        self._bytes = 0
        self._turn = asyncio.Lock()

    def keep_all(self, window: Window) -> None:
        """Keep what the pages of a window download from now on."""
        if isinstance(window, PlaywrightWindow):
            self._window = window
            window.downloads.keep, window.downloads.folder = self._keep, self._folder

    async def _keep(self, loading: Loading) -> str:
        suggested = shorten(self._redact(loading.suggested_filename), 80)
        async with self._turn:  # the limits hold for all of them together
            name = self._choose_name(self._redact(loading.suggested_filename))
            try:
                size, problem = await self._take(loading, name)
            except (OSError, playwright_error()) as error:
                is_ours = self._window.downloads.is_over or is_closed_error(error)
                problem = "it was still loading when the attempt ended" if is_ours else "it was interrupted"
                self._note(loading, name, None, problem)
                if isinstance(error, OSError):  # a full disk, say, which is not the page's
                    self._window.warn(f"a download was not kept: {error.strerror}")
                elif not is_ours:
                    self._window.warn(f"The download of {suggested!r} was interrupted.")
                raise
            self._note(loading, name, size, problem)
        told = f"Downloaded file name {suggested!r} ({size} bytes)"
        if problem:
            told = f"{told}, which is not kept: {problem}."
            self._window.warn(told)
            return told
        self._names.add(name.casefold())
        self._bytes += size
        if is_packed(self._folder / DOWNLOADS / name):
            self._window.warn(f"not searched for secrets, because it is compressed: {name!r}")
        return f"{told}." if suggested == name else f"{told}, kept as {name!r}."

    async def _take(self, loading: Loading, name: str) -> tuple[int, str]:
        """Return the size of a download, and why it is not kept; empty if it is."""
        kept = self._folder / DOWNLOADS / name
        try:
            source = await loading.path()
        except playwright_error() as error:
            if "remote" not in str(error).lower():
                raise
            await loading.save_as(kept)  # the browser is on another machine
            source = kept
        size, limits = source.stat().st_size, self._limits
        problem = ""
        if len(self._names) >= limits.max_files:
            problem = f"capture.downloads.max_files is {limits.max_files}"
        elif self._bytes + size > limits.max_bytes:
            problem = f"capture.downloads.max_bytes is {limits.max_bytes:,}"
        elif source != kept:
            kept.parent.mkdir(exist_ok=True)
            await asyncio.to_thread(shutil.copyfile, source, kept)
        if not problem and not await asyncio.to_thread(redact_file, kept, self._redact):
            problem = "it contains a secret of this run, and is not text"
        if problem:
            kept.unlink(missing_ok=True)
        return size, problem

    def _choose_name(self, suggested: str) -> str:
        name = make_safe(suggested)
        stem, suffix = Path(name).stem, Path(name).suffix
        number = 1
        while name.casefold() in self._names:
            number += 1
            name = f"{stem}-{number}{suffix}"
        return name

    def _note(self, loading: Loading, name: str, size: int | None, problem: str) -> None:
        line = Download(
            name=name,
            suggested_name=self._redact(loading.suggested_filename)[:LONGEST_URL],
            url=self._redact(loading.url)[:LONGEST_URL],
            size_bytes=size,
            problem=problem,
        )
        with (self._folder / INDEX).open("a", encoding="utf-8") as file:
            file.write(line.model_dump_json() + "\n")


def make_safe(suggested: str) -> str:
    """Return a name for a file, legal on each system, which is that of a page as far as that is safe."""
    # Format characters too, some of which turn the order of letters around: `annexe.exe` looks like a PDF.
    letters = [
        one if one.isalnum() or one in " ._-()[]+,@&'=~#" or unicodedata.category(one)[0] == "M" else "_"
        for one in unicodedata.normalize("NFC", suggested)
        if unicodedata.category(one) not in ("Cf", "Cs")
    ]
    name = re.sub(r"^[. ]+|[. ]+$", "", "".join(letters)) or "download"
    if RESERVED.match(name):
        name = f"_{name}"
    stem, suffix = Path(name).stem, Path(name).suffix[:20]
    room = LONGEST_NAME - len(suffix.encode())
    return stem.encode()[:room].decode(errors="ignore").rstrip(". ") + suffix
