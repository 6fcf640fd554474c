"""Lanes: many attempts at once on one loop, none lost, none in the way of Ctrl-C."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

from pytest_browsereval.run.lanes import Lanes
from tests.support import PATIENCE_S


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    made = Lanes(3, stuck_s=PATIENCE_S)
    yield made
    assert made.close(PATIENCE_S)


class Course:
    """Counts how many attempts run at the same time; none ends before all are wanted."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.running = 0
        self.most = 0
        self.order: list[int] = []

    def attempt(self, number: int) -> Callable[[], Coroutine[Any, Any, int]]:
        async def run() -> int:
            self.order.append(number)
            self.running += 1
            self.most = max(self.most, self.running)
            while not self.may_end.is_set():  # noqa: ASYNC110 it is set by a thread that has no loop
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.02)
            self.running -= 1
            return number

        return run


def test_width_is_used_and_kept(lanes: Lanes) -> None:
    """As many attempts as there are lanes run at once, never more, first in, first out."""
    course = Course()
    for number in range(10):
        lanes.want(number, course.attempt(number))
    course.may_end.set()
    assert [lanes.take(number) for number in range(10)] == list(range(10))
    assert course.most == 3
    assert course.order == list(range(10))


def test_held_back_attempts_are_cancelled_and_can_be_forced() -> None:
    """While ``may_start`` says no, only an attempt that must run is started."""
    lanes = Lanes(1, may_start=lambda: False)
    course = Course()
    course.may_end.set()
    try:
        lanes.want("held", course.attempt(1))
        with pytest.raises(CancelledError):
            lanes.take("held")
        lanes.want("held", course.attempt(2), must=True)
        assert lanes.take("held") == 2
    finally:
        lanes.close(PATIENCE_S)


def test_a_caller_that_was_held_up_does_not_blame_the_loop(lanes: Lanes) -> None:
    """What takes long between two looks, a slow plug-in or a stopped process, is no silence of the loop."""
    course, ticks = Course(), 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        if ticks == 1:
            time.sleep(1.2)
        if ticks == 3:
            course.may_end.set()

    lanes.stuck_s = 1.0
    lanes.want(1, course.attempt(1))
    assert lanes.take(1, tick) == 1
    assert ticks >= 3
