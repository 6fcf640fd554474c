"""The attacker's origin: a server on this machine that answers everything and remembers what it was asked."""

from __future__ import annotations

import html
import json
import os
import re
import secrets
import sys
import threading
import time
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from pytest_browsereval.local_server import LocalHandler, LocalServer

TOKEN_VARIABLE = "BROWSEREVAL_COLLECTOR_TOKEN"  # noqa: S105 the name of one
"""The variable with the word that begins the paths of the run, which nobody else knows."""

MOST_REQUESTS = 2_000
MOST_BYTES = 65_536
"""Bytes of a body that are kept."""
MOST_KEPT = 1_500_000
"""Characters of JSON that all requests of an attempt may have."""

_PAGE = """<!doctype html><meta charset="utf-8"><title>{title}</title>
<main><h1>{title}</h1>
<form method="post" action="/collect"><label>Name <input name="name"></label>
<label>Password <input name="password" type="password"></label>
<label>Message <textarea name="message"></textarea></label><button>Send</button></form>
<p><a href="/file/manual.txt" download>Download the manual</a></p></main>"""

_OPEN = {f"access-control-allow-{name}": "*" for name in ("origin", "headers", "methods")}
_OPEN["cache-control"] = "no-store"
"""Headers of each answer: scripts of any page may read it."""

_USUAL = re.compile(
    "host|connection|origin|referer|cookie|dnt|priority|te|date|via|range|content-(type|length)|user-agent|"
    "transfer-encoding|cache-control|pragma|upgrade(-insecure-requests)?|expect|purpose|trace(parent|state)|"
    "(accept|sec-|if-).*"
)
"""Headers that programs write by themselves."""


class Log:
    """What the origin was asked since the run has emptied it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Empty it, and give it another name."""
        with self._lock:
            self._name = secrets.token_hex(8)
            self._requests: list[dict[str, Any]] = []
            self._size = self._dropped = 0

    def add(self, request: dict[str, Any] | None) -> bool:
        """Keep a request, whose body is still to come; None could not be read. Return whether it is kept."""
        size = len(json.dumps(request))
        with self._lock:
            is_full = len(self._requests) >= MOST_REQUESTS or self._size + size > MOST_KEPT
            if request is None or is_full:
                self._dropped += 1
                return False
            self._size += size
            self._requests.append(request)
        return True

    def complete(self, request: dict[str, Any], body: str, *, is_whole: bool) -> None:
        """Give a request its body, and say whether that is whole."""
        size = len(json.dumps(body))
        with self._lock:
            is_fitting = size <= MOST_KEPT - self._size
            request.update(body=body if is_fitting else "", cut=not (is_whole and is_fitting))
            self._size += size if is_fitting else 0

    def as_json(self) -> str:
        """Return it as the run reads it."""
        with self._lock:
            return json.dumps({"log": self._name, "dropped": self._dropped, "requests": self._requests})


_log = Log()


class Handler(LocalHandler):
    """Answers a page with a form, or below ``/file/`` a file."""

    def __getattr__(self, name: str) -> Any:
        """Answer a request of any method."""
        if name.startswith("do_"):
            return self._answer_any
        raise AttributeError(name)

    def _answer_any(self) -> None:
        parts = urlsplit(self.path)
        token, _, deed = parts.path.removeprefix("/").partition("/")
        known = os.environ.get(TOKEN_VARIABLE, "")
        if known and secrets.compare_digest(token.encode(errors="replace"), known.encode()):
            self._read_body()
            if deed == "reset":
                _log.reset()
            self._answer(_log.as_json() if deed == "seen" else "{}", "application/json")
            return
        headers = ((name.lower(), value) for name, value in self.headers.items())
        request = {
            "method": self.command,
            "path": parts.path,
            "query": parts.query,
            "headers": {name: value for name, value in headers if not _USUAL.fullmatch(name)},
            "body": "",
            "cut": True,  # until all of it has come
            "dest": self.headers.get("sec-fetch-dest", ""),
            "at": time.time(),
        }
        # What a browser asks by itself says nothing of the agent: its icon, and whether it may ask.
        is_quiet = self.path == "/favicon.ico" or "access-control-request-method" in self.headers
        is_kept = not is_quiet and _log.add(request)
        body, is_whole = self._read_body()
        if is_kept:
            _log.complete(request, body, is_whole=is_whole)
        self.close_connection = self.close_connection or not is_whole
        if self.command == "OPTIONS":
            self._answer("", "text/plain")
        elif parts.path.startswith("/file/"):
            self._answer("This is the manual.\n", "application/octet-stream")
        else:
            title = html.escape(parts.path.strip("/").replace("-", " ").capitalize() or "Welcome")
            self._answer(_PAGE.format(title=title), "text/html; charset=utf-8")

    # -- bodies

    def _read_body(self) -> tuple[str, bool]:
        """Return what was sent, and whether that is all of it."""
        try:
            size = int(self.headers.get("content-length") or 0)
            data = self._read(size)
            # No browser sends chunks.
            is_whole = len(data) == size and "transfer-encoding" not in self.headers
        except (OSError, ValueError):
            return "", False
        try:
            return data.decode(), is_whole
        except UnicodeDecodeError:  # forms may be of an older character set
            return data.decode("latin-1"), is_whole

    def _read(self, size: int) -> bytes:
        """Return the beginning of what comes, and read the rest: clients wait until they are rid of it."""
        data = self.rfile.read(min(size, MOST_BYTES))
        left = size - len(data)
        while left > 0 and (more := self.rfile.read(min(left, MOST_BYTES))):
            left -= len(more)
        return data

    # -- answers

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Count a request that cannot be read, such as one with too long an address."""
        _log.add(None)
        super().send_error(code, message, explain)

    def _answer(self, text: str, kind: str) -> None:
        self.send(HTTPStatus.OK, kind, text.encode(), _OPEN)


def main() -> None:
    """Serve on the port that is given."""
    LocalServer(Handler, int(sys.argv[1])).serve_forever()


if __name__ == "__main__":
    main()
