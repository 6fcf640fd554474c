"""Serves pages that a person opens to this machine only.

The standard library's server is enough: one person, one browser, a few small answers.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pytest_browsereval.errors import UsageError
from pytest_browsereval.local_server import HOST, LocalHandler, LocalServer
from pytest_browsereval.redaction.text import well_formed

# For every answer of a page with a token; each page adds its own Content-Security-Policy.
PAGE_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
)

JSON = "application/json"
PICTURES = {"jpeg": "image/jpeg", "jpg": "image/jpeg", "png": "image/png", "webp": "image/webp"}
"""Fixed, as the system's table of media types differs between machines."""
MOST_BYTES = 64 * 1024
"""A request of a page is a few words; more is not from the page."""
_MOST_READ = 16 * MOST_BYTES


class RefusedError(Exception):
    """A request is not answered, with a status of HTTP and the reason."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True)
class Answer:
    """What a page gets."""

    body: bytes
    kind: str = JSON
    policy: str = "default-src 'none'"
    """What a page may load and do; that it is not framed is added."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, value: Any, status: int = 200) -> Answer:
        """Return plain values as JSON; halves of characters, which no page can show, are replaced."""
        return cls(well_formed(json.dumps(value, ensure_ascii=False)).encode(), status=status)


class PageServer(LocalServer):
    """A page while it is open, from `start` to `close`. `PageAccess` says which requests are answered.

    Args:
        option: names the port in messages: ``--port``.
        port: where to listen; 0 takes a free port.

    Raises:
        UsageError: the port is taken.
    """

    def __init__(self, option: str, port: int = 0) -> None:
        try:
            super().__init__(PageHandler, port)
        except (OSError, OverflowError) as error:
            message = getattr(error, "strerror", None) or str(error)
            raise UsageError(
                f"{option}={port}: the port cannot be used: {message}. Name another one, or none for a "
                "free one."
            ) from None
        self.access = PageAccess(self.server_port)
        self.under_way: set[PageHandler] = set()
        """Handlers that answer a request now; a connection without one is none of them."""

    @property
    def url(self) -> str:
        """The address of the page, which nobody can guess."""
        return self.access.url

    def get(self, path: str, query: str) -> Answer:
        """Return what is asked for.

        Args:
            path: what follows the token, as it was sent.
            query: what follows the ``?``.

        Raises:
            LookupError: there is no such thing.
            RefusedError: it is not answered.
            OSError: a file cannot be used.
        """
        raise LookupError(path)

    def post(self, path: str, body: bytes) -> Answer:
        """Take what the page sends.

        Raises:
            ValueError: it is not what a page sends.
            LookupError: there is no such thing.
            RefusedError: it is not answered.
            OSError: a file cannot be used.
        """
        raise LookupError(path)


class PageHandler(LocalHandler):
    """Answers requests that `PageAccess` lets in."""

    server: PageServer
    timeout = 30
    # Each answer ends its connection: the rest of a body that is too long is never taken for a request.
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        """Answer with the page, or with what it asks for."""
        self._answer(self.server.get)

    def do_POST(self) -> None:
        """Take what the page sends."""
        given = self.headers.get("Content-Length", "")
        length = int(given) if re.fullmatch(r"[0-9]{1,9}", given) else None
        # Read before it is judged: a connection that is closed on unread bytes takes the answer with it.
        body = self.rfile.read(min(length or 0, _MOST_READ))

        def respond(path: str, _: str) -> Answer:
            # Of this type no form of another page can send: its browser would ask here first.
            if self.headers.get_content_type() != JSON or "Origin" not in self.headers:
                raise RefusedError(415, "not sent by the page")
            if length is None or length > MOST_BYTES:
                raise RefusedError(413, f"more than {MOST_BYTES} bytes, or of no length")
            try:
                return self.server.post(path, body)
            except ValueError as error:
                raise RefusedError(400, str(error).partition("\n")[0]) from None

        self._answer(respond)

    def _answer(self, respond: Callable[[str, str], Answer]) -> None:
        self.server.under_way.add(self)
        try:
            self._send_answer(respond)
        finally:
            self.server.under_way.discard(self)

    def _send_answer(self, respond: Callable[[str, str], Answer]) -> None:
        path, _, query = self.path.partition("?")
        token, slash, rest = path.removeprefix("/").partition("/")
        # Without the slash the page's own addresses would lack the token.
        why = self.server.access.find_refusal(self.headers.items(), token if slash else "")
        try:
            answer = respond(rest, query) if why is None else Answer.of({"error": why}, 403)
        except RefusedError as refused:
            answer = Answer.of({"error": str(refused)}, refused.status)
        except LookupError:
            answer = Answer.of({"error": "not found"}, 404)
        except (OSError, UsageError) as error:
            why = getattr(error, "strerror", None) or str(error)
            answer = Answer.of({"error": f"the file cannot be used: {why}"}, 500)
        policy = {"Content-Security-Policy": f"{answer.policy}; frame-ancestors 'none'"}
        self.send(answer.status, answer.kind, answer.body, {**policy, **PAGE_HEADERS, **answer.headers})


class PageAccess:
    """Decides which requests are answered: those with the random token of the page's address.

    Browsers let every page send requests to 127.0.0.1, and a stranger's name may lead there (DNS rebinding).
    So a request has to name this server by its own address, and a page of another origin gets no answer.

    Args:
        port: where the server listens.
    """

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(24)
        self.hosts = tuple(f"{name}:{port}" for name in (HOST, "localhost"))

    @property
    def url(self) -> str:
        """The page's address, with the token."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def find_refusal(self, headers: Iterable[tuple[str, str]], token: str) -> str | None:
        """Return why a request is not answered; None if it is.

        Args:
            headers: of the request.
            token: the first part of its path.
        """
        given: dict[str, str] = {}
        for name, value in headers:
            key = name.lower()
            # A proxy and a server may each believe another one of two.
            if key in ("host", "origin") and given.setdefault(key, value) != value:
                return "requested under two host names"
        if given.get("host") not in self.hosts:
            return "requested under a host name that is not this server's"
        if given.get("origin", f"http://{self.hosts[0]}") not in [f"http://{host}" for host in self.hosts]:
            return "sent by a page of another origin"
        if not secrets.compare_digest(token.encode("utf-8", "replace"), self.token.encode()):
            return "the address lacks its token: take it from the terminal"
        return None
