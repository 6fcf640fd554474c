"""Drivers of Playwright that start at once, each with a folder of its own for temporary files."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path

import psutil
import pytest

from pytest_browsereval.browsers import driver as drivers
from pytest_browsereval.browsers.binary import candidates, launch_first
from pytest_browsereval.temporary import is_replaced, read_environment
from tests.hooks.launched import wait_for
from tests.support import has_ended

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


async def stop_with_a_stuck_browser() -> tuple[list[psutil.Process], Path]:
    """Stop a driver that is dead, before its browser has noticed; return its processes and its profile."""
    mine = psutil.Process()
    before = {child.pid for child in mine.children(recursive=True)}
    driver = await drivers.start_driver()
    await launch_first(driver.chromium, candidates())
    started = [child for child in mine.children(recursive=True) if child.pid not in before]
    browser = {child: profile for child in started for profile in profiles(child)}
    for child in browser:
        child.suspend()
    next(child for child in started if "run-driver" in child.cmdline()).kill()
    await drivers.stop_driver(driver)
    return list(browser), next(iter(browser.values()))


def profiles(process: psutil.Process) -> list[Path]:
    """Return the profile that the command line of a process names, if any."""
    option = "--user-data-dir="
    return [Path(word.removeprefix(option)) for word in process.cmdline() if word.startswith(option)]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked for in /proc")
def test_a_browser_whose_driver_has_died_makes_its_profile_no_more() -> None:
    """One that was just starting makes it with all folders above it, after these were removed."""
    browser, profile = asyncio.run(stop_with_a_stuck_browser())
    try:
        wait_for(lambda: all(has_ended(child.pid) for child in browser), "what was killed has ended")
        assert not profile.parent.exists()
    finally:
        for child in browser:
            if child.is_running():
                child.kill()
