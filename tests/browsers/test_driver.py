"""Drivers of Playwright that start at once, each with a folder of its own for temporary files."""

from __future__ import annotations

import asyncio
import os
import tempfile

import psutil
import pytest

from pytest_browsereval.browsers import driver as drivers
from pytest_browsereval.temporary import is_replaced, read_environment

NUMBER = 3


async def start_together() -> tuple[list[str], set[str]]:
    """Return the temporary folders of drivers that start at once, and what others get meanwhile."""
    running = {child.pid for child in psutil.Process().children()}
    starting = [asyncio.ensure_future(drivers.start_driver()) for _ in range(NUMBER)]
    meanwhile, overlaps = set(), 0
    while not all(start.done() for start in starting):
        overlaps += is_replaced()
        meanwhile.add(read_environment()["TMPDIR"])
        await asyncio.sleep(0)
    started = await asyncio.gather(*starting)
    try:
        assert overlaps >= NUMBER
        new = [child for child in psutil.Process().children() if child.pid not in running]
        return [child.environ()["TMPDIR"] for child in new], meanwhile
    finally:
        for one in started:
            await drivers.stop_driver(one)


@pytest.mark.slow
def test_drivers_that_start_at_once_do_not_share_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process and its other programs keep the system's: a driver's folder is removed with it."""
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    folders, meanwhile = asyncio.run(start_together())
    assert len(set(folders)) == len(folders) == NUMBER
    assert tempfile.gettempdir() not in folders
    assert os.environ["TMPDIR"] == tempfile.gettempdir()
    assert meanwhile == {tempfile.gettempdir()}
