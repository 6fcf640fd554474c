"""A small web site that conformance suites point browsers and agents at."""

from __future__ import annotations

import threading
from typing import Self

from pytest_browsereval.local_server import LocalHandler, LocalServer

_HOME = """<!doctype html><html lang="en"><title>Conformance</title>
<h1>Conformance</h1>
<p>Nothing was done yet.</p>
<button onclick="document.querySelector('p').textContent = 'The button was clicked.'">Click me</button>
<p><a href="/second">The second page</a></p>"""

_SECOND = """<!doctype html><html lang="en"><title>Second</title><h1>The second page</h1>"""


class ConformanceSite:
    """Serves pages on a loopback port and remembers what was asked for, with which cookies.

    ``/`` has a button and a link to ``/second``; ``/mark`` sets a cookie; ``/slow`` answers after seconds;
    any other path is 404.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, str]] = []
        """Path and cookies of each request, favicons left out."""
        self._closing = threading.Event()
        self._arrived = threading.Condition()
        site = self

        class Handler(LocalHandler):
            def do_GET(self) -> None:
                site._answer(self)

        self._server = LocalServer(Handler).start()
        self.url = self._server.url

    def __enter__(self) -> Self:
        """Serve already."""
        return self

    def __exit__(self, *_: object) -> None:
        """Give the port back."""
        self._closing.set()
        self._server.close()

    def cookies(self, path: str) -> list[str]:
        """Return the cookies that came with each request of a path."""
        return [cookies for asked, cookies in self.requests if asked == path]

    def asked_for(self, path: str, limit_s: float = 20.0) -> bool:
        """Wait until a path was asked for; return False if it was not in time."""
        with self._arrived:
            return self._arrived.wait_for(lambda: bool(self.cookies(path)), limit_s)

    def _answer(self, request: LocalHandler) -> None:
        path = request.path.partition("?")[0]
        # Chromium asks for it by itself.
        if path != "/favicon.ico":
            with self._arrived:
                self.requests.append((path, request.headers.get("Cookie", "")))
                self._arrived.notify_all()
        if path == "/slow":
            self._closing.wait(30)
        text = {"/": _HOME, "/mark": _SECOND, "/second": _SECOND, "/slow": _SECOND}.get(path)
        status, body = (404, "<p>Nothing here.") if text is None else (200, text)
        headers = {"Set-Cookie": "marked=yes; Path=/"} if path == "/mark" else {}
        request.send(status, "text/html; charset=utf-8", body.encode(), headers)
