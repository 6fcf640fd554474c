"""Threads in which a bucket is spoken to, and for which nobody has to wait.

A request to a server that never answers takes minutes, and nothing interrupts it: Ctrl-C ends the waiting,
and these threads do not keep the process from ending.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

IN_FLIGHT = 16
"""Requests at once. More gain little with one bucket."""

Given = TypeVar("Given")
Result = TypeVar("Result")


def run_apart(work: Callable[[], Result]) -> Result:
    """Return what a call returns; the main thread can be interrupted in the meantime."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    return start_apart(work).result()


def start_apart(work: Callable[[], Result]) -> Future[Result]:
    """Return what becomes of a call."""
    future: Future[Result] = Future()
    threading.Thread(target=_settle, args=(future, work), name="bucket", daemon=True).start()
    return future


def map_apart(work: Callable[[Given], Result], items: Iterable[Given]) -> list[Result]:
    """Return what a call returns of each item, in their order, with ``IN_FLIGHT`` calls at once.

    Nothing more is begun after the first error, which is raised once nothing is under way any more.
    """
    futures: list[Future[Result]] = []
    left: deque[tuple[Future[Result], Callable[[], Result]]] = deque()
    for item in items:
        futures.append(Future())
        left.append((futures[-1], partial(work, item)))
    threads = [
        threading.Thread(target=_settle_all, args=(left,), name="bucket", daemon=True)
        for _ in range(min(IN_FLIGHT, len(left)))
    ]
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


def _settle_all(left: deque[tuple[Future[Any], Callable[[], Any]]]) -> None:
    while True:
        try:
            future, work = left.popleft()
        except IndexError:
            return
        _settle(future, work)


def _settle(future: Future[Any], work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # noqa: BLE001 it is raised where the result is waited for
        future.set_exception(error)
    else:
        future.set_result(result)
