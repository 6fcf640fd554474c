"""A deadline that holds even for code that will not be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

GRACE_S = 3.0
"""How long cancelled code may take to clean up before it is left behind."""


class Overran(Exception):
    """The work was not done in time.

    Args:
        is_left_behind: whether it has not even stopped since.
        raised: what it raised when it was cancelled.
        has_caught: whether it caught that.
    """

    def __init__(
        self, *, is_left_behind: bool, raised: BaseException | None = None, has_caught: bool = False
    ) -> None:
        super().__init__("left behind" if is_left_behind else "cancelled")
        self.has_caught = has_caught
        self.is_left_behind = is_left_behind
        self.raised = raised


class SelfCancelled(RuntimeError):
    """The work ended with a ``CancelledError``, though its caller did not cancel it."""

    def __init__(self) -> None:
        super().__init__("it ended with a CancelledError, although nothing cancelled it")


async def within(
    limit_s: float,
    work: Coroutine[Any, Any, T],
    *,
    grace_s: float = GRACE_S,
    at_limit: Callable[[], object] = lambda: None,
    cut: asyncio.Future[None] | None = None,
) -> T:
    """Await the work in a task of its own, and no longer than the limit and the grace.

    ``asyncio.timeout`` waits for ever where ``CancelledError`` is swallowed.

    Args:
        limit_s: after how many seconds the work is cancelled.
        work: must not raise ``SystemExit`` or ``KeyboardInterrupt``, which would end the loop.
        grace_s: how long it may take to end once it is cancelled, also if the caller is.
        at_limit: called before the work is cancelled: cancelled code may go on until the grace is over.
        cut: once it is done or cancelled, the limit counts as met.

    Raises:
        Overran: the limit was met; what the work returned after that is dropped.
        SelfCancelled: the work cancelled itself.
    """
    task = asyncio.ensure_future(work)
    try:
        waits: set[asyncio.Future[Any]] = {task} if cut is None else {task, cut}
        await asyncio.wait(waits, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        if task.cancelled():  # not by us: a caller would take it for the end of its own time
            raise SelfCancelled
        if task.done():
            return task.result()
        at_limit()
    finally:
        if not task.done():
            task.add_done_callback(_look_at)
            task.cancel()
            await asyncio.wait({task}, timeout=grace_s)
    raised = task.exception() if task.done() and not task.cancelled() else None
    raise Overran(is_left_behind=not task.done(), raised=raised, has_caught=not task.cancelled())


def _look_at(task: asyncio.Future[Any]) -> None:
    """Take a result that nobody waits for, else asyncio complains of it."""
    if not task.cancelled():
        task.exception()
