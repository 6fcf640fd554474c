"""Lanes: many attempts at once on one loop, none lost, none in the way of Ctrl-C."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError
from typing import Any

import pytest

from pytest_browsereval.run.lanes import Lanes, LoopLost


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    made = Lanes(3, stuck_s=0.5)
    yield made
    assert made.close(5)


class Course:
    """Counts how many attempts run at the same time."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0
        self.order: list[int] = []

    def attempt(self, number: int) -> Callable[[], Coroutine[Any, Any, int]]:
        async def run() -> int:
            self.order.append(number)
            self.running += 1
            self.most = max(self.most, self.running)
            await asyncio.sleep(0.02)
            self.running -= 1
            return number

        return run


def test_width_is_used_and_kept(lanes: Lanes) -> None:
    """As many attempts as there are lanes run at once, never more, first in, first out."""
    course = Course()
    for number in range(10):
        lanes.want(number, course.attempt(number))
    assert [lanes.take(number) for number in range(10)] == list(range(10))
    assert course.most == 3
    assert course.order == list(range(10))


@pytest.mark.parametrize("may_start", [True, False])
def test_those_who_wait_for_a_lane_are_known(may_start: bool) -> None:  # noqa: FBT001 both are tried
    """First come, first named; one that waits for its group too, and none once no more may start."""
    lanes = Lanes(2, may_start=lambda: may_start)
    go_on = threading.Event()
    seen: list[tuple[Any, ...]] = []

    async def attempt() -> None:
        while not go_on.is_set():  # noqa: ASYNC110 it is set by a thread that has no loop
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.02)
        seen.append(lanes.waiting)

    for number, groups in enumerate((["a"], ["a"], (), (), ())):
        lanes.want(number, attempt, groups=groups, must=number in (0, 2))
    go_on.set()
    lanes.take(0)
    lanes.take(2)
    assert lanes.close(5)
    assert seen[0] == ((1, 3, 4) if may_start else ())
    assert lanes.waiting == ()


def test_wanting_twice_runs_once(lanes: Lanes) -> None:
    """An attempt that is queued already is not queued again."""
    course = Course()
    lanes.want(1, course.attempt(1))
    lanes.want(1, course.attempt(1))
    assert lanes.take(1) == 1
    assert course.order == [1]


def test_group_members_run_one_at_a_time(lanes: Lanes) -> None:
    """Attempts of one group never overlap, whatever the width."""
    course = Course()
    for number in range(4):
        lanes.want(number, course.attempt(number), groups=["account"])
    for number in range(4):
        lanes.take(number)
    assert course.most == 1


def test_several_groups_are_waited_for_without_a_deadlock(lanes: Lanes) -> None:
    """Whatever order they are named in; attempts that share none go on beside them."""
    course, other = Course(), Course()
    wanted = [["a", "b"], ["b", "a"], ["b"], ["a"], ["c"]]
    for number, groups in enumerate(wanted):
        lanes.want(number, (other if groups == ["c"] else course).attempt(number), groups=groups)
    assert [lanes.take(number) for number in range(5)] == list(range(5))
    assert course.most <= 2  # the last two share nothing
    assert sorted(course.order) == [0, 1, 2, 3]


def test_an_exception_reaches_the_taker(lanes: Lanes) -> None:
    """What an attempt raises is raised where it is taken."""

    async def bad() -> None:
        raise ValueError("broken")

    lanes.want("bad", bad)
    with pytest.raises(ValueError, match="broken"):
        lanes.take("bad")


def test_held_back_attempts_are_cancelled_and_can_be_forced() -> None:
    """While ``may_start`` says no, only an attempt that must run is started."""
    lanes = Lanes(1, may_start=lambda: False)
    course = Course()
    try:
        lanes.want("held", course.attempt(1))
        with pytest.raises(CancelledError):
            lanes.take("held")
        lanes.want("held", course.attempt(2), must=True)
        assert lanes.take("held") == 2
    finally:
        lanes.close(5)


def test_blocking_code_is_blamed_and_left_behind(lanes: Lanes) -> None:
    """The attempt that blocks the loop is named, even in a task of its own; a new loop serves the rest."""
    release = threading.Event()

    async def inner() -> None:
        release.wait(20)

    async def blocks() -> None:
        await asyncio.create_task(inner())

    course = Course()
    lanes.want("blocker", blocks)
    lanes.want("bystander", course.attempt(1))
    with pytest.raises(LoopLost, match=r"blocking code.*test_lanes\.py|blocking code.*threading\.py") as lost:
        lanes.take("bystander")
    assert lost.value.culprit == "blocker"
    release.set()
    lanes.want("bystander", course.attempt(1))
    assert lanes.take("bystander") == 1


def test_leaving_the_interpreter_ends_one_attempt_only(lanes: Lanes) -> None:
    """``SystemExit`` in an attempt is an error of that attempt; the loop and the others go on."""

    async def leaves() -> None:
        raise SystemExit(5)

    course = Course()
    lanes.want("leaves", leaves)
    lanes.want("other", course.attempt(7))
    with pytest.raises(RuntimeError, match=r"SystemExit\(5\)"):
        lanes.take("leaves")
    assert lanes.take("other") == 7


def test_interrupting_the_wait_cancels_the_attempts() -> None:
    """Ctrl-C while waiting cancels what runs, lets it clean up, and starts nothing more."""
    lanes = Lanes(1)
    cleaned: list[str] = []
    started = threading.Event()

    async def attempt() -> None:
        started.set()
        try:
            await asyncio.sleep(30)
        finally:
            cleaned.append("closed")

    async def never() -> None:
        cleaned.append("started")

    def interrupt() -> None:
        if started.is_set():
            raise KeyboardInterrupt

    lanes.want("first", attempt)
    lanes.want("second", never)
    with pytest.raises(KeyboardInterrupt):
        lanes.take("first", interrupt)
    assert lanes.close(5)
    assert cleaned == ["closed"]


def test_closing_runs_the_last_coroutine_and_ends_the_thread() -> None:
    """What lives on the loop is closed on the loop, and no thread stays."""
    lanes = Lanes(1)
    closed: list[bool] = []

    async def last() -> None:
        await asyncio.sleep(0)
        closed.append(True)

    lanes.call(asyncio.sleep(0))
    assert lanes.close(5, last)
    assert closed == [True]
    assert not [t for t in threading.enumerate() if t.name == "browsereval-loop" and t.is_alive()]


def test_a_stuck_loop_does_not_hold_up_closing() -> None:
    """Closing has a deadline even when the loop never answers."""
    lanes = Lanes(1, stuck_s=60)
    release = threading.Event()

    async def blocks() -> None:
        release.wait(30)

    lanes.want("blocker", blocks)
    time.sleep(0.1)
    assert lanes.close(0.2) is False
    release.set()
