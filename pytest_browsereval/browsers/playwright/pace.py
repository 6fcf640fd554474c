"""Measures how fast the browser answers while a call takes long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from types import TracebackType

EVERY_S = 1.0
"""A call that takes longer has the browser asked, and again so long after each answer: most take less."""


class Pace:
    """Measures, beside a call, how long the browser needs for an answer that costs it nothing.

    A page may hang by its own fault. The browser does not wait for its pages: it needs milliseconds, and a
    second only where the machine, or the driver in between, has too much else to do. So the two can be told
    apart afterwards. Used as a context manager around the call.

    Args:
        ask: asks the browser something, and not a page.
    """

    def __init__(self, ask: Callable[[], Awaitable[object]]) -> None:
        self.slowest_s = 0.0
        """The longest that an answer took, or has taken so far; 0 when nothing was asked."""
        self._ask = ask
        self._is_over = False
        self._asking: asyncio.Task[None] | None = None
        self._asked_at: float | None = None

    def __enter__(self) -> Pace:
        self._timer = asyncio.get_running_loop().call_later(EVERY_S, self._begin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._is_over = True
        if self._asking is not None and self._asked_at is None:
            self._asking.cancel()
        self._note()  # also of an answer that is still to come: given up, its error would be nobody's

    def _begin(self) -> None:
        self._asking = asyncio.get_running_loop().create_task(self._measure())

    async def _measure(self) -> None:
        while True:
            self._asked_at = time.monotonic()
            try:
                await self._ask()
            except Exception:  # noqa: BLE001 it has gone, or will not tell: the call finds out by itself
                self._asked_at = None
                return
            self._note()
            if self._is_over:
                return
            await asyncio.sleep(EVERY_S)

    def _note(self) -> None:
        if self._asked_at is not None:
            self.slowest_s = max(self.slowest_s, time.monotonic() - self._asked_at)
            self._asked_at = None
