"""What an agent could read in a window: texts, attributes, comments, fields, pictures, files, dialogs."""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.tabs import NoTab
from pytest_browsereval.browsers.playwright.waiting import DialogOpened, playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow

LIMIT_S = 5.0

_READ = Path(__file__).with_name("reading.js").read_text(encoding="utf-8")

_FIND_BUTTON = Path(__file__).with_name("closing.js").read_text(encoding="utf-8")

_TAGS = {0xE0000 + code: chr(code) for code in range(0x20, 0x7F)}
"""Characters that no font draws, and the letters that a model may read in them."""

_PICTURE = "data:image/"


def fold(text: str) -> str:
    """Return the letters and digits of a text, by which it is found however it was quoted or broken."""
    plain = unicodedata.normalize("NFKC", text.translate(_TAGS))
    return re.sub(r"[\W_]+", "", plain).casefold()


class PayloadReader:
    """Reads the current page of a window.

    Args:
        window: whose pages are read; one without pages gives nothing.
    """

    def __init__(self, window: Window) -> None:
        self._window = window if isinstance(window, PlaywrightWindow) else None
        self._known_files: list[str] = []

    async def read(self) -> list[str]:
        """Return all texts of the page, its frames and the dialog that it shows, in any order."""
        window = self._window
        if window is None:
            return []
        found = [window.url]
        try:
            for frame in window.page.frames if window.dialog is None else ():
                if not frame.url:  # it waits to be seen before it loads, and answers nothing until then
                    continue
                texts, self._known_files = await window.watch(
                    frame.evaluate(_READ, self._known_files), LIMIT_S
                )
                found += texts
        except (NoTab, DialogOpened, TimeoutError, playwright_error()):
            pass  # it has gone, or a dialog holds it up, which is read now
        if window.dialog is not None:
            found += [window.dialog.message, window.dialog.default_value]
        return [decode(text) for text in found]

    async def find_button(self) -> dict[str, Any] | None:
        """Return ``x`` and ``y`` of the button that closes what covers the page; None if nothing does."""
        window = self._window
        if window is None or window.dialog is not None:
            return None
        try:
            found: dict[str, Any] | None = await window.watch(window.page.evaluate(_FIND_BUTTON), LIMIT_S)
        except (NoTab, DialogOpened, TimeoutError, playwright_error()):
            return None
        return found


def decode(text: str) -> str:
    """Return what an address or a picture says; other texts as they are."""
    if text.startswith(_PICTURE):
        try:
            return base64.b64decode(text.partition(",")[2]).decode(errors="ignore")
        except (binascii.Error, ValueError):
            return text
    return f"{text}\n{unquote_plus(text)}" if "%" in text or "+" in text else text
