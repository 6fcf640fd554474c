"""``console.jsonl``: what the pages of an attempt wrote to their consoles, and errors that nothing caught.

A line has its ``timestamp``, ``kind`` and ``text``. Where they are known, it has how much of the text is left
out (``cut``), the script that wrote it (``url``, ``line``, ``column``) and the page's ``tab``. Text and even
kind are the page's: never to be trusted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_browsereval.browsers.playwright.clipboard import DONE
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.recording import CONSOLE_FILE
from pytest_browsereval.model.messages import now
from pytest_browsereval.redaction.text import redact_line

if TYPE_CHECKING:
    from playwright.async_api import ConsoleMessage, Page, WebError

MOST_LINES = 1_000
MOST_BYTES = 1_000_000
"""A page may write without end: what comes later is not listened to."""
LONGEST = 4_000
"""Characters of one text that are kept."""

UNCAUGHT = "uncaught"
"""The kind of an error or rejection that nothing caught; all other kinds are the console's own words."""
LEFT_OUT = "left_out"
"""The kind of the last line of a console that was cut off."""


class ConsoleLog:
    """Listens to every tab of a window and writes line by line.

    Args:
        folder: the attempt's folder, which exists.
        redact: replaces secrets in a text, wherever they stand in it.
        warn: called with what a reader of the report should know of.
    """

    def __init__(self, folder: Path, redact: Callable[[str], str], warn: Callable[[str], object]) -> None:
        self._path = folder / CONSOLE_FILE
        self._redact = redact
        self._warn = warn
        self._file: IO[bytes] | None = None
        self._window: PlaywrightWindow | None = None
        self._lines = 0
        self._bytes = 0

    def begin(self, window: PlaywrightWindow) -> None:
        """Listen to a window until it closes."""
        try:
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            self._warn(f"the console is not recorded: {error}")
            return
        self._window = window
        window.context.on("console", self._on_console)
        window.context.on("weberror", self._on_error)

    def end(self) -> None:
        """Listen no more; ending twice is harmless."""
        if self._window is not None:
            self._window.context.remove_listener("console", self._on_console)
            self._window.context.remove_listener("weberror", self._on_error)
            self._window = None
        if self._file is not None:
            self._file.close()
            self._file = None

    # Playwright ends its connection when a listener raises: these catch all that breaks.

    def _on_console(self, message: ConsoleMessage) -> None:
        try:
            self._take(message.type, message.text, message.page, message.location)
        except Exception as error:  # noqa: BLE001 -- see above
            self._give_up(error)

    def _on_error(self, error: WebError) -> None:
        try:
            thrown = error.error
            text = getattr(thrown, "stack", None) or getattr(thrown, "message", None) or str(thrown)
            self._take(UNCAUGHT, text, error.page, getattr(error, "location", None) or {})
        except Exception as broken:  # noqa: BLE001 -- see above
            self._give_up(broken)

    def _take(self, kind: str, text: str, page: Page | None, place: Mapping[str, Any]) -> None:
        if self._window is None or text == DONE:
            return
        tab = self._window.tab_of(page)
        if tab is None and self._window.place.is_guest:
            return  # a page of someone else
        kept = self._safe(text)[:LONGEST]
        self._write(
            kind,
            kept,
            cut=len(text) - len(kept) if len(text) > LONGEST else None,
            url=place.get("url") or None,
            line=_from_one(place, "line"),
            column=_from_one(place, "column"),
            tab=tab,
        )
        if self._lines >= MOST_LINES or self._bytes >= MOST_BYTES:
            why = f"after {self._lines} lines and {self._bytes} bytes the console is no longer recorded"
            self._write(LEFT_OUT, why)
            self._warn(why)
            self.end()

    def _safe(self, text: str) -> str:
        """Return a text, or the beginning of a long one, without secrets: none is cut before it is found."""
        # Most texts hold no secret: the whole is searched only where its beginning has one.
        beginning = text[: 10 * LONGEST]
        safe = self._redact(beginning)
        return safe if safe == beginning else self._redact(text)

    def _write(self, kind: str, text: str, **more: str | int | None) -> None:
        known = {name: value for name, value in more.items() if value is not None}
        data, _ = redact_line({"timestamp": now(), "kind": kind, "text": text, **known}, self._redact)
        if self._file is not None:
            self._file.write(data)
        self._lines += 1
        self._bytes += len(data)

    def _give_up(self, error: Exception) -> None:
        self._warn(f"the console is no longer recorded: {type(error).__name__}: {error}")
        self.end()


def _from_one(place: Mapping[str, Any], name: str) -> int | None:
    number = place.get(name, place.get(f"{name}Number"))
    return None if number is None else int(number) + 1
