"""Deadlines hold for code that ends, fails, cleans up, or does not hear."""

from __future__ import annotations

import asyncio

import pytest

from pytest_browsereval.deadline import Overran, within


def test_a_cancellation_of_its_own_making_is_an_error() -> None:
    """Whoever waits is not cancelled by it, and so does not lose what it has to record."""

    async def gives_up() -> None:
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting.cancel()
        await waiting

    async def run() -> None:
        with pytest.raises(RuntimeError, match="nothing cancelled it"):
            await within(60, gives_up())

    asyncio.run(run())


def test_late_work_is_cancelled_and_may_clean_up() -> None:
    """It is given time to clean up, and what it returns then is dropped."""
    seen = []

    async def cleans() -> str:
        try:
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0)
            seen.append("clean")
        return "late"

    async def run() -> None:
        with pytest.raises(Overran) as caught:
            await within(0.01, cleans(), grace_s=60)
        assert not caught.value.is_left_behind

    asyncio.run(run())
    assert seen == ["clean"]


def test_deaf_work_is_left_behind() -> None:
    """The caller goes on, also one that is cancelled itself."""
    deaf = asyncio.Event()

    async def swallows() -> None:
        while not deaf.is_set():
            try:
                await deaf.wait()
            except asyncio.CancelledError:
                continue

    async def run() -> None:
        with pytest.raises(Overran) as caught:
            await within(0.01, swallows(), grace_s=0.01)
        assert caught.value.is_left_behind
        caller = asyncio.create_task(within(3600, swallows(), grace_s=0.01))
        await asyncio.sleep(0)
        caller.cancel()
        with pytest.raises(asyncio.CancelledError):
            await caller
        deaf.set()

    asyncio.run(run())
