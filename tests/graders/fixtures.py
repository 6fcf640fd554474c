"""A real browser and a real web server for tests of graders."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from pytest_browsereval.benchmarks import second_tab
from pytest_browsereval.benchmarks.webarena import pages
from pytest_browsereval.browsers.playwright.browser import PlaywrightBrowser
from pytest_browsereval.graders import observing, patterns
from tests.graders.support import Live, Site

PATIENCE_S = 60.0
"""A machine under load; nothing here waits that long by itself."""


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a busy machine take its time; tests of a limit make it short again."""
    monkeypatch.setattr(observing, "READ_LIMIT_S", PATIENCE_S)
    monkeypatch.setattr(pages, "PICTURE_LIMIT_S", PATIENCE_S)
    monkeypatch.setattr(second_tab, "OPEN_LIMIT_S", PATIENCE_S)
    monkeypatch.setattr(patterns, "SEARCH_LIMIT_S", PATIENCE_S)


@pytest.fixture
def serve() -> Iterator[Callable[[], Site]]:
    """Start a site on a free port; all of them end with the test."""
    servers: list[ThreadingHTTPServer] = []

    def start() -> Site:
        site = Site()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.cookies.append(self.headers.get("cookie", ""))
                answer = site.pages.get(self.path, (404, "text/plain", "nothing here"))
                status, media_type, text = (
                    (200, "text/html; charset=utf-8", answer) if isinstance(answer, str) else answer
                )
                self.send_response(status)
                self.send_header("content-type", media_type)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        servers.append(server)
        site.url = f"http://127.0.0.1:{server.server_port}"
        return site

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def site(serve: Callable[[], Site]) -> Site:
    """A site without pages yet."""
    return serve()


@pytest.fixture
def live(runner: asyncio.Runner, browser: PlaywrightBrowser) -> Live:
    """Windows of the shared browser."""
    return Live(runner, browser)
