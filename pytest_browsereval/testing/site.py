"""A small web site that conformance suites point browsers and agents at."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

CLOSE_S = 5.0

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

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site._answer(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base class names it
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        """Serve already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the port back."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(CLOSE_S)

    def cookies(self, path: str) -> list[str]:
        """Return the cookies that came with each request of a path."""
        return [cookies for asked, cookies in self.requests if asked == path]

    def asked_for(self, path: str, limit_s: float = 20.0) -> bool:
        """Wait until a path was asked for; return False if it was not in time."""
        with self._arrived:
            return self._arrived.wait_for(lambda: bool(self.cookies(path)), limit_s)

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.partition("?")[0]
        if path != "/favicon.ico":
            with self._arrived:
                self.requests.append((path, request.headers.get("Cookie", "")))
                self._arrived.notify_all()
        if path == "/slow":
            self._closing.wait(30)
        text = {"/": _HOME, "/mark": _SECOND, "/second": _SECOND, "/slow": _SECOND}.get(path)
        body = (text or "<p>Nothing here.").encode()
        try:
            request.send_response(404 if text is None else 200)
            request.send_header("Content-Type", "text/html; charset=utf-8")
            request.send_header("Content-Length", str(len(body)))
            if path == "/mark":
                request.send_header("Set-Cookie", "marked=yes; Path=/")
            request.end_headers()
            request.wfile.write(body)
        except ConnectionError:
            return  # the page was closed meanwhile
