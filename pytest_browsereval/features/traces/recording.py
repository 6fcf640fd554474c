"""Recording of a window as a whole, from before its start page until its agent has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.capture.recording import TraceMode
from pytest_browsereval.features.traces.console import ConsoleLog
from pytest_browsereval.features.traces.trace import Trace


class Recording:
    """The trace and the console of one attempt; what fails is a warning, never an exception.

    ``async with`` saves the trace at its end, also if the attempt breaks.

    Args:
        folder: the attempt's folder, which exists.
        trace: whether there is one, and when it is kept.
        console: whether it is recorded.
        redact: replaces secrets in a text, wherever they stand in it.
    """

    def __init__(
        self, folder: Path, *, trace: TraceMode, console: bool, redact: Callable[[str], str]
    ) -> None:
        self.warnings: list[str] = []
        """What a reader of the report should know of."""
        self.has_passed = False
        """Set when the verdict is known: a trace may be kept of other attempts only."""
        self._folder = folder
        self._mode = trace
        self._trace = None if trace == "off" else Trace(redact, self.warnings.append)
        self._console = ConsoleLog(folder, redact, self.warnings.append) if console else None

    async def begin(self, window: Window) -> None:
        """Record a window until it closes, if not ended before."""
        if not isinstance(window, PlaywrightWindow):
            self.warnings.append(f"a {type(window).__name__} has no trace and no console to record")
            return
        # A trace can be fetched only while its context is open.
        window.endings.append(self.end)
        if self._console is not None:
            self._console.begin(window)
        if self._trace is not None:
            await self._trace.begin(window)

    async def end(self) -> None:
        """Record no more: what graders look at does not belong to the attempt. Ending twice is harmless."""
        if self._console is not None:
            self._console.end()
        if self._trace is not None:
            await self._trace.end()

    async def __aenter__(self) -> Recording:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Keep the trace if it is wanted, unless the attempt is given up, and remove what was only needed."""
        if self._trace is None:
            return
        is_given_up = kind is not None and issubclass(kind, asyncio.CancelledError)
        try:
            if not (is_given_up or (self._mode == "retain-on-failure" and self.has_passed)):
                await self._trace.save(self._folder)
        finally:
            await self._trace.drop()
