"""Ready windows: opened while other attempts go on, empty, each for one attempt that is to come."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow

T = TypeVar("T")

LANES_PER_READY = 8
"""One ready window for so many lanes: an attempt lasts far longer than a window takes to open."""


@dataclass(eq=False)
class _Ready:
    """A window that is open or is being opened."""

    recipe: object
    opening: asyncio.Task[PlaywrightWindow | None]

    @property
    def window(self) -> PlaywrightWindow | None:
        """The window; None while it opens, and if it could not be opened."""
        return self.opening.result() if self.opening.done() and not self.opening.cancelled() else None


class ReadyWindows:
    """Opens windows ahead and hands each of them out once, if it is as one opened at that moment would be.

    What fails here is nobody's fault: the attempt then opens its window itself, and tells of what is wrong.

    Args:
        open_one: opens a window with one empty tab.
        serves: whether a window's browser is the one that windows are opened in now.
    """

    def __init__(
        self,
        open_one: Callable[[], Coroutine[Any, Any, PlaywrightWindow]],
        serves: Callable[[PlaywrightWindow], bool],
    ) -> None:
        self._open_one = open_one
        self._serves = serves
        self._queue: deque[_Ready] = deque()
        self._closing: set[asyncio.Task[None]] = set()

    def fill(self, count: int, recipe: object) -> None:
        """Begin to open windows until so many are ready; returns at once.

        Args:
            count: how many; those that are too many stay.
            recipe: what windows are like now; ready ones of another recipe are closed.
        """
        for ready in [ready for ready in self._queue if not self._is_good(ready, recipe)]:
            self._queue.remove(ready)
            self._discard(ready)
        for _ in range(count - len(self._queue)):
            self._queue.append(_Ready(recipe, _start(self._try_open())))

    async def take(self, recipe: object) -> PlaywrightWindow | None:
        """Return a ready window, which is the caller's then; None if there is none.

        One that is being opened is waited for: it will be there before another one would.

        Args:
            recipe: what the window has to be like.
        """
        while self._queue:
            ready = self._queue.popleft()
            try:
                await asyncio.wait({ready.opening})
                window = ready.window if self._is_good(ready, recipe) else None
                is_good = window is not None and await window.answers()
            except asyncio.CancelledError:
                # Whoever gave up has not used it.
                self._queue.appendleft(ready)
                raise
            if is_good:
                return window
            self._discard(ready)
        return None

    async def close(self) -> None:
        """Stop opening windows; those that are open end with their browser."""
        left, self._queue = list(self._queue), deque()
        opening = {ready.opening for ready in left if not ready.opening.done()}
        for task in opening:
            task.cancel()
        if tasks := {*opening, *self._closing}:
            await asyncio.wait(tasks)

    async def _try_open(self) -> PlaywrightWindow | None:
        try:
            return await self._open_one()
        except Exception:  # noqa: BLE001 the attempt that opens its window itself meets and tells it
            return None

    def _is_good(self, ready: _Ready, recipe: object) -> bool:
        if ready.recipe != recipe:
            return False
        if not ready.opening.done():
            return True
        window = ready.window
        # A window may have crashed or been closed while nobody looked.
        return window is not None and window.is_untouched and self._serves(window)

    def _discard(self, ready: _Ready) -> None:
        # Does nothing to one that has opened; that is closed below.
        ready.opening.cancel()
        if ready.window is not None:
            closing = _start(ready.window.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)


def _start(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    # It does not belong to the attempt that happens to run now.
    return asyncio.get_running_loop().create_task(work, context=Context())
