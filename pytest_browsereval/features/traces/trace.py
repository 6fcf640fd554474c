"""``trace.zip``: an attempt for Playwright's trace viewer, without what logs a reader in."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pytest_browsereval.browsers.playwright.waiting import playwright_error
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.recording import TRACE_FILE
from pytest_browsereval.redaction.logins import remove_logins
from pytest_browsereval.redaction.text import redact_json
from pytest_browsereval.temporary import own_folder

STOP_S = 30.0
"""How long the browser may take to hand over what it has recorded."""

_DRAWN = re.compile(r"(?:text/css|image/|font/|application/(?:x-)?font)", re.IGNORECASE)
"""Types of replies without which a page in a trace is not drawn as it was; all others are left out."""
_EVENTS = (".trace", ".network")
_OURS = ".stacks"
"""Lines of this package, under paths of this machine."""


class Trace:
    """Records a window from before its start page until its agent has ended.

    The raw trace holds every cookie and every reply: it is in a folder of its own that nobody else can
    read, and goes.

    Args:
        redact: replaces secrets in a text, wherever they stand in it.
        warn: called with what a reader of the report should know of.
    """

    def __init__(self, redact: Callable[[str], str], warn: Callable[[str], object]) -> None:
        self._redact = redact
        self._warn = warn
        self._window: PlaywrightWindow | None = None
        self._place: Path | None = None

    async def begin(self, window: PlaywrightWindow) -> None:
        """Begin to record; a browser that cannot is a warning."""
        try:
            # Not in a thread: a folder made while this is cancelled would be known to nobody.
            self._place = Path(tempfile.mkdtemp(prefix="trace-", dir=own_folder()))
            async with asyncio.timeout(STOP_S):
                await window.context.tracing.start(screenshots=True, snapshots=True)
        except Exception as error:  # noqa: BLE001 it tells Playwright's from others
            self._warn_of(error)
        else:
            self._window = window

    async def end(self) -> None:
        """Record no more; ending twice is harmless."""
        window, self._window = self._window, None
        if window is None or self._place is None:
            return
        try:
            async with asyncio.timeout(STOP_S):
                await window.context.tracing.stop(path=self._place / TRACE_FILE)
        except Exception as error:  # noqa: BLE001 it tells Playwright's from others
            self._warn_of(error)

    def _warn_of(self, error: Exception) -> None:
        if not isinstance(error, (OSError, playwright_error())):  # TimeoutError is an OSError
            raise error
        self._warn(f"no trace: {str(error).partition(chr(10))[0] or f'not there within {STOP_S:g} s'}")

    async def save(self, folder: Path) -> None:
        """Put what was recorded into the attempt's folder; a trace that cannot be saved is a warning."""
        if self._place is None:
            return
        try:
            await asyncio.to_thread(clean_trace, self._place / TRACE_FILE, folder / TRACE_FILE, self._redact)
        except (OSError, ValueError, KeyError, RecursionError, zipfile.BadZipFile) as error:
            self._warn(f"the trace could not be saved: {type(error).__name__}: {error}")

    async def drop(self) -> None:
        """Remove the raw recording."""
        if self._place is not None:
            await asyncio.to_thread(shutil.rmtree, self._place, ignore_errors=True)


def clean_trace(raw: Path, target: Path, redact: Callable[[str], str]) -> None:
    """Write a trace without cookies, headers that log in, replies that are not drawn, and secrets.

    Nothing is written where nothing was recorded, or the attempt's folder has gone.

    Raises:
        OSError: it could not be written; nothing stays.
        ValueError: it is not as Playwright writes traces; nothing stays.
    """
    if not raw.is_file() or not target.parent.is_dir():
        return
    temporary = target.with_name(f".{target.name}")
    try:
        with zipfile.ZipFile(raw) as source, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as clean:
            kept: set[str] = set()
            names = [name for name in source.namelist() if not name.endswith(_OURS)]
            # Events first: they tell which of the other files are needed.
            for name in sorted(names, key=lambda name: not name.endswith(_EVENTS)):
                if name.endswith(_EVENTS):
                    clean.writestr(name, b"".join(_events(source.read(name), kept, redact)))
                elif not name.startswith("resources/") or Path(name).name in kept:
                    clean.writestr(name, _plain(source.read(name), redact))
        # Under its name only when it is whole: readers take what is there.
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _events(data: bytes, kept: set[str], redact: Callable[[str], str]) -> Iterator[bytes]:
    for line in data.splitlines():
        event = json.loads(line)
        snapshot = event.get("snapshot", {})
        if event.get("type") == "resource-snapshot":
            remove_logins(snapshot["request"])
            remove_logins(snapshot["response"])
            reply = snapshot["response"].get("content", {})
            if not _DRAWN.match(str(reply.get("mimeType", ""))):
                for key in ("_sha1", "_file", "text"):
                    reply.pop(key, None)
        kept |= set(_files(snapshot))
        safe = redact_json(event, redact)
        yield json.dumps(safe, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _files(value: Any) -> Iterable[str]:
    """Yield the names of all files that an event is shown with."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if name in ("_sha1", "sha1", "_file", "file") and isinstance(inner, str):
                yield Path(inner).name
            else:
                yield from _files(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _files(inner)


def _plain(data: bytes, redact: Callable[[str], str]) -> bytes:
    """Return a file without secrets if it is a text; pictures and fonts as they are."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return data
    safe = redact(text)
    return data if safe == text else safe.encode()
