"""Deadlines of code that cancels itself."""

from __future__ import annotations

import asyncio

import pytest

from pytest_browsereval.deadline import within


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
