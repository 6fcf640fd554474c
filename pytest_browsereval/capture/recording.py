"""What records a window as a whole, from before its start page until its agent has ended."""

from __future__ import annotations

from typing import Literal, Protocol

from pytest_browsereval.browsers.base import Window

TRACE_FILE = "trace.zip"
"""Its name in the attempt's folder. ``playwright show-trace trace.zip`` shows it."""
CONSOLE_FILE = "console.jsonl"
"""Its name in the attempt's folder; empty where no page said anything."""

TraceMode = Literal["off", "on", "retain-on-failure"]


class WindowRecording(Protocol):
    """A recording of a window; what fails is a warning, never an exception."""

    warnings: list[str]
    """What a reader of the report should know of."""
    has_passed: bool
    """Set when the verdict is known."""

    async def begin(self, window: Window) -> None:
        """Record a window that is empty yet."""

    async def end(self) -> None:
        """Record no more: what graders look at does not belong to the attempt. Ending twice is harmless."""
