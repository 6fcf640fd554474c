"""Playwright's driver: the process that launches browsers, with a place of its own for temporary files."""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
import shutil
import signal
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.browsers.machine import describe_memory_limit, driver_folder, driver_trouble
from pytest_browsereval.browsers.playwright.page_text import PRELUDE
from pytest_browsereval.browsers.playwright.waiting import quietly
from pytest_browsereval.browsers.playwright.world import offer_worlds
from pytest_browsereval.errors import ErrorSource, StopRun
from pytest_browsereval.temporary import OwnedFolder, is_replaced, temporary_files_in

if TYPE_CHECKING:
    from playwright.async_api import Playwright

END_S = 10.0
"""How long a driver, or a browser, may take to end."""
_READER_S = 5.0
_START_S = 5.0
"""How long a start that nobody waits for any more may take to end."""
_STEPS = 3
"""Rounds of the loop until Playwright has read the environment for its driver."""
_LONGEST = 57
"""Characters of a path below which a browser can have a socket: systems allow 103, and its part needs 46."""

_DRIVER_DIED = "Connection closed while reading from the driver"

_places: dict[Playwright, Path] = {}
"""The folders of drivers that have not been ended."""
_in_use: set[Path] = set()
"""These, and those of drivers that are starting."""
_numbers = itertools.count(1)
_folder: OwnedFolder | None = None


async def start_driver() -> Playwright:
    """Start Playwright's driver.

    Raises:
        StopRun: source *browser*; the message says what it lacks and what to type.
    """
    from playwright.async_api import async_playwright

    while is_replaced():  # noqa: ASYNC110 by another driver that starts, for a few rounds of the loop
        await asyncio.sleep(0)
    before = asyncio.all_tasks()
    place = _home() / str(next(_numbers))
    place.mkdir()
    _in_use.add(place)
    starting = asyncio.ensure_future(async_playwright().start())
    try:
        with temporary_files_in(place) if len(str(place)) <= _LONGEST else nullcontext():
            for _ in range(_STEPS):
                await asyncio.sleep(0)
        # Cancelled in its start, Playwright would leave the process of its driver behind.
        driver = await asyncio.shield(starting)
    except asyncio.CancelledError:
        await _stop_started(starting)
        _leave(place)
        raise
    except Exception as error:  # Playwright raises a bare Exception when its Node ends at once
        await _end_reader(asyncio.all_tasks() - before)
        _leave(place)
        trouble = await driver_trouble() or f"Playwright's driver does not start: {error}"
        if limit := describe_memory_limit():
            trouble = f"{trouble.rstrip('.')}. {limit}"
        raise StopRun(ErrorSource.BROWSER, trouble) from error
    _places[driver] = place
    asyncio.get_running_loop().set_exception_handler(_report_unseen)
    await offer_worlds(driver, PRELUDE)
    return driver


def _report_unseen(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report what nobody has awaited, but for the death of a driver, which each call of it tells as well.

    Playwright keeps that in a future which it reads while the driver starts, and never after.
    """
    if str(context.get("exception")) != _DRIVER_DIED:
        loop.default_exception_handler(context)


async def stop_driver(driver: Playwright) -> None:
    """End a driver and remove what it and its browsers have left on the disk; never raises."""
    await quietly(driver.stop(), END_S)
    if (place := _places.pop(driver, None)) is not None:
        # Profiles have thousands of files: other lanes go on meanwhile.
        await asyncio.to_thread(_remove_place, place)
        _leave(place)


async def _stop_started(starting: asyncio.Future[Playwright]) -> None:
    """Let a driver start, and end it: cut off in its start, its process would stay."""
    await asyncio.wait({starting}, timeout=_START_S)
    if starting.done() and not starting.cancelled() and starting.exception() is None:
        await quietly(starting.result().stop(), _START_S)


async def _end_reader(tasks: set[asyncio.Task[Any]]) -> None:
    """Wait for what Playwright's failed start left under way.

    That still waits for the end of its process. Cut off with the loop, it would leave the pipes open.
    """
    if readers := {task for task in tasks if _is_playwrights(task)}:
        await asyncio.wait(readers, timeout=_READER_S)


def _is_playwrights(task: asyncio.Task[Any]) -> bool:
    code, folder = getattr(task.get_coro(), "cr_code", None), driver_folder()
    return code is not None and folder is not None and folder.parent in Path(code.co_filename).parents


# -- temporary files: a browser or driver that is killed leaves its profile behind


def _home() -> Path:
    global _folder  # noqa: PLW0603 it is the process's
    if _folder is None or not _folder.path.is_dir():
        _folder = OwnedFolder()
    return _folder.path


def _remove_place(place: Path) -> None:
    _kill_users(place)
    shutil.rmtree(place, ignore_errors=True)


def _kill_users(place: Path) -> None:
    """Kill the browsers whose driver has died, as they have a profile in its folder.

    One that was just starting would make its profile again after it was removed, and end then. Where there is
    no ``/proc``, that is so.
    """
    deadline = time.monotonic() + END_S
    with suppress(FileNotFoundError):  # the folder is gone already
        while any(place.iterdir()) and (users := _users(place)) and time.monotonic() < deadline:
            for pid in users:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)


def _users(place: Path) -> list[int]:
    """Return the processes with a path below a folder in their command line."""
    needle, found = os.fsencode(f"{place}{os.sep}"), []
    for command in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended meanwhile, or is another user's
            if needle in command.read_bytes():
                found.append(int(command.parent.name))
    return found


def _leave(place: Path) -> None:
    _in_use.discard(place)
    if not _in_use:
        _remove_home()


@atexit.register
def _remove_home() -> None:
    global _folder
    folder, _folder = _folder, None
    if folder is not None:
        for place in _in_use:  # at the end of the process
            _kill_users(place)
        folder.remove()
