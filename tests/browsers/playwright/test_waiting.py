"""What is measured beside a call that takes long."""

from __future__ import annotations

import asyncio

import pytest

from pytest_browsereval.browsers.playwright import waiting
from pytest_browsereval.browsers.playwright.waiting import Pace
from tests.support import Run, until


class Asked:
    """Something that answers when it is let."""

    def __init__(self) -> None:
        self.times = 0
        self.may_answer = asyncio.Event()

    async def __call__(self) -> None:
        self.times += 1
        await self.may_answer.wait()


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let calls take long after a hundredth of a second."""
    monkeypatch.setattr(waiting, "EVERY_S", 0.01)


def test_a_short_call_asks_nothing(run: Run) -> None:
    """It costs nothing but a timer, which ends with it."""

    async def short() -> None:
        asked = Asked()
        with Pace(asked) as measured:
            pass
        await asyncio.sleep(0.05)
        assert (asked.times, measured.slowest_s) == (0, 0)

    run(short())


def test_a_long_call_asks_again_and_again(run: Run) -> None:
    """The slowest answer counts, however quick the later ones are."""

    async def long() -> None:
        asked = Asked()
        with Pace(asked) as measured:
            await until(lambda: asked.times)
            await asyncio.sleep(0.1)
            asked.may_answer.set()
            await until(lambda: asked.times > 3)
        assert measured.slowest_s >= 0.09

    run(long())


def test_an_answer_that_is_still_to_come_counts(run: Run) -> None:
    """The call ends first: what it has taken so far is known, and once it is there nothing else is asked."""

    async def hanging() -> None:
        asked = Asked()
        others = asyncio.all_tasks()  # the loop is that of all the tests of browsers
        with Pace(asked) as measured:
            await until(lambda: asked.times)
            await asyncio.sleep(0.1)
        told = measured.slowest_s
        assert told >= 0.09
        asked.may_answer.set()
        await until(lambda: asyncio.all_tasks() <= others)
        assert (asked.times, measured.slowest_s) == (1, told)

    run(hanging())


def test_a_browser_that_has_gone_is_not_slow(run: Run) -> None:
    """What the question raises neither counts nor reaches the call."""

    async def gone() -> None:
        times = list[int]()

        async def refuse() -> None:
            times.append(1)
            raise ConnectionError

        with Pace(refuse) as measured:
            await until(lambda: times)
            await asyncio.sleep(0.1)
        assert (len(times), measured.slowest_s) == (1, 0)

    run(gone())
