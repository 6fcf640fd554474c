"""Threads in which a bucket is spoken to, and for which nobody has to wait.

A request to a server that never answers takes minutes, and nothing interrupts it: Ctrl-C ends the waiting,
and these threads do not keep the process from ending.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import TypeVar

IN_FLIGHT = 16
"""Requests at once. More gain little with one bucket."""

Given = TypeVar("Given")
Result = TypeVar("Result")


def run_apart(work: Callable[[], Result]) -> Result:
    """Return what a call returns; the main thread can be interrupted in the meantime."""
    if threading.current_thread() is not threading.main_thread():
        return work()
    return map_apart(lambda _: work(), [None])[0]


def map_apart(
    work: Callable[[Given], Result], items: Iterable[Given], at_once: int = IN_FLIGHT
) -> list[Result]:
    """Return what a call returns of each item, in their order, with so many calls at once.

    Nothing more is begun after the first error, which is raised once nothing is under way any more.
    """
    left = deque(enumerate(items))
    found: dict[int, Result] = {}
    errors: list[BaseException] = []

    def settle() -> None:
        with suppress(IndexError):  # until nothing is left
            while True:
                place, item = left.popleft()
                try:
                    found[place] = work(item)
                except BaseException as error:  # noqa: BLE001 it is raised where the result is waited for
                    errors.append(error)
                    left.clear()

    threads = [
        threading.Thread(target=settle, name="bucket", daemon=True) for _ in range(min(at_once, len(left)))
    ]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        left.clear()
    if errors:
        raise errors[0]
    return [found[place] for place in sorted(found)]
