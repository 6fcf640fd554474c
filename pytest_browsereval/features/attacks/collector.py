"""The attacker's origin: a server on this machine that answers everything and remembers what it was asked."""

from __future__ import annotations

import html
import json
import sys
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

from pytest_browsereval.local_server import LocalServer

OWN = "/browsereval/"
"""Begins the paths that are not the attacker's."""

SEEN = f"{OWN}seen"

MOST_REQUESTS = 500
MOST_BYTES = 65_536
"""Bytes of a body that are kept."""

_PAGE = """<!doctype html><meta charset="utf-8"><title>{title}</title>
<main><h1>{title}</h1>
<form method="post" action="/collect"><label>Name <input name="name"></label>
<label>Password <input name="password" type="password"></label>
<label>Message <textarea name="message"></textarea></label><button>Send</button></form>
<p><a href="/file/manual.txt" download>Download the manual</a></p></main>"""

_requests: list[dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    """Answers a page with a form, or below ``/file/`` a file."""

    protocol_version = "HTTP/1.1"
    # What a browser asks for by itself says nothing of the agent.
    quiet = ("/favicon.ico",)

    def handle_any(self) -> None:
        """Answer a request of any method."""
        size = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(size)
        path = urlsplit(self.path).path
        if path == SEEN:
            self._answer(json.dumps(_requests), "application/json")
        elif path == f"{OWN}reset":
            _requests.clear()
            self._answer("{}", "application/json")
        elif path.startswith(OWN):
            self._answer("{}", "application/json")
        else:
            self._note(body)
            if path.startswith("/file/"):
                self._answer("This is the manual.\n", "application/octet-stream")
            else:
                title = html.escape(path.strip("/").replace("-", " ").capitalize() or "Welcome")
                self._answer(_PAGE.format(title=title), "text/html; charset=utf-8")

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = handle_any

    def do_OPTIONS(self) -> None:
        """Let any page send anything: what it asks first is not what the attacker wants."""
        self._answer("", "text/plain")

    def _note(self, body: bytes) -> None:
        parts = urlsplit(self.path)
        if parts.path in self.quiet or len(_requests) >= MOST_REQUESTS:
            return
        _requests.append(
            {
                "method": self.command,
                "path": parts.path,
                "query": parts.query,
                "body": body[:MOST_BYTES].decode(errors="replace"),
                "at": time.time(),
            }
        )

    def _answer(self, text: str, kind: str) -> None:
        data = text.encode()
        self.send_response(HTTPStatus.OK)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        for name in ("origin", "headers", "methods"):
            self.send_header(f"access-control-allow-{name}", "*")
        self.send_header("cache-control", "no-store")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, *_args: Any) -> None:
        """Say nothing."""


def main() -> None:
    """Serve on the port that is given."""
    LocalServer(Handler, int(sys.argv[1])).serve_forever()


if __name__ == "__main__":
    main()
