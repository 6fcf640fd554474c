"""What the tests of a process share, however many folders they are in: a loop, a browser, a page server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser, PlaywrightBrowserConfig
from tests import forks
from tests.support import PATIENCE_S, PageServer, Run, Visit, Visits, running, visiting


@pytest.fixture(scope="session", autouse=True)
def template(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fork the processes of pytest that some tiers start; those of other tests are new interpreters."""
    if any(tier in request.config.option.markexpr for tier in ("slow", "soak", "adversary")):
        forks.TEMPLATE.allow()
    yield
    forks.TEMPLATE.leave()


@pytest.fixture
def unforked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start new interpreters for a test of what they import or forget."""
    monkeypatch.setattr(forks.TEMPLATE, "is_used", False)


@pytest.fixture
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test in a folder of its own."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="session")
def runner() -> Iterator[asyncio.Runner]:
    """Return the loop that owns the browser."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="session")
def run(runner: asyncio.Runner) -> Run:
    """Run coroutines on that loop."""
    return runner.run


@pytest.fixture(scope="session")
def page_server() -> Iterator[PageServer]:
    """Return a page server."""
    server = PageServer()
    yield server
    server.close()


@pytest.fixture
def pages(page_server: PageServer) -> Iterator[PageServer]:
    """Return the page server, without the pages of another test."""
    yield page_server
    page_server.forget()


@pytest.fixture(scope="session")
def browser(run: Run) -> Iterator[PlaywrightBrowser]:
    """Return a running headless browser whose actions may take long: the machine may be busy."""
    with running(PlaywrightBrowserConfig(action_timeout_ms=PATIENCE_S * 1000), run) as browser:
        yield browser


@pytest.fixture
def visit(run: Run, browser: PlaywrightBrowser, pages: PageServer, tmp_path: Path) -> Iterator[Visits]:
    """Return a function that serves a page and opens a window there."""
    with ExitStack() as stack:

        def open_page(body: str = "", path: str = "/page", **options: Any) -> Visit:
            url = pages.page(path, f"<!doctype html><title>Page</title>{body}")
            return stack.enter_context(visiting(run, browser, tmp_path, url, **options))

        yield open_page
