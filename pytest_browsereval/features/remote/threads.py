"""Threads in which a bucket is spoken to, and for which nobody has to wait.

A request to a server that never answers takes minutes, and nothing interrupts it: Ctrl-C ends the waiting,
and these threads do not keep the process from ending.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from typing import Any, TypeVar

IN_FLIGHT = 16
"""Requests at once. More gain little with one bucket."""

Given = TypeVar("Given")
Result = TypeVar("Result")


def run_apart(work: Callable[[], Result]) -> Result:
    """Return what a call returns; the main thread can be interrupted in the meantime."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    return map_apart(lambda _: work(), [None])[0]


def map_apart(work: Callable[[Given], Result], items: Iterable[Given]) -> list[Result]:
    """Return what a call returns of each item, in their order, with ``IN_FLIGHT`` calls at once.

    Nothing more is begun after the first error, which is raised once nothing is under way any more.
    """
    left = deque((Future[Result](), item) for item in items)
    futures = [future for future, _ in left]
    ways = range(min(IN_FLIGHT, len(left)))
    threads = [threading.Thread(target=_settle, args=(work, left), name="bucket", daemon=True) for _ in ways]
    for thread in threads:
        thread.start()
    try:
        return [future.result() for future in futures]
    except Exception:
        left.clear()
        for thread in threads:
            thread.join()
        raise
    finally:
        left.clear()


def _settle(work: Callable[[Any], Any], left: deque[tuple[Future[Any], Any]]) -> None:
    while left:
        try:
            future, item = left.popleft()
        except IndexError:  # another thread was quicker
            return
        try:
            future.set_result(work(item))
        except BaseException as error:  # noqa: BLE001 it is raised where the result is waited for
            future.set_exception(error)
