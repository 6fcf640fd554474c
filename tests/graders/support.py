"""Attempts, a web server and a live window for tests of graders."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import psutil
import pytest

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.browsers.playwright.windows import PlaywrightWindow
from pytest_browsereval.errors import TerminationReason
from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.model.tasks import Task
from tests.hooks.launched import wait_for

T = TypeVar("T")


def make_task(**fields: Any) -> Task:
    return Task.model_validate({"query_id": "row", "query": "Do it.", **fields})


def make_recorded(task: Task, **fields: Any) -> Recorded:
    given: dict[str, Any] = {
        "final_answer": None,
        "termination_reason": TerminationReason.COMPLETED,
        "final_url": None,
        "folder": Path(),
    }
    return Recorded(task=task, **{**given, **fields})


def living(mark: str) -> list[psutil.Process]:
    """Return the living processes with that mark in their command line."""
    found = [p for p in psutil.process_iter(["cmdline", "status"]) if mark in (p.info["cmdline"] or [])]
    return [p for p in found if p.info["status"] != psutil.STATUS_ZOMBIE]


def assert_ended(mark: str) -> None:
    """Assert that no process with that mark lives on; what was killed needs a moment to be gone."""
    wait_for(lambda: not living(mark), f"what has {mark} in its command line has ended")


def overrun(work: Callable[[float], T], has_begun: Callable[[], object]) -> T:
    """Return what came of work that met its time limit after it had begun.

    How long it takes to begin depends on the machine: a limit that was met before that is raised.
    """
    for limit_s in (1.5, 6.0, 24.0, 96.0):
        result = work(limit_s)
        if has_begun():
            return result
    pytest.fail("the work has not even begun")


@dataclass
class Site:
    """A web server of this process; every path answers with what the test puts there."""

    url: str = ""
    pages: dict[str, str | tuple[int, str, str]] = field(default_factory=dict)
    """Text of a page by its path, or status, media type and text."""
    cookies: list[str] = field(default_factory=list)
    """The cookie header of every request."""


@dataclass
class Live:
    """Runs coroutines with a window of its own for each."""

    runner: asyncio.Runner
    browser: PlaywrightBrowser

    def run(
        self,
        url: str | None,
        work: Callable[[PlaywrightWindow], Coroutine[Any, Any, T]],
        *,
        sets_cookies: bool = False,
    ) -> T:
        """Open a window at a URL, await the work in it, close it; its scripts may set cookies before."""

        async def course() -> T:
            window = await self.browser.open_window(WindowRequest("row", url))
            try:
                if sets_cookies:  # a browser has them a moment later, and before it tells any
                    await window.page.evaluate("document.cookie")
                return await work(window)
            finally:
                await window.close()

        return self.runner.run(course())
