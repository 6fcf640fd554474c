"""Servers on the loopback: they leave nothing behind, and pages with a token answer nobody else."""

from __future__ import annotations

import http.client
import threading

import pytest

from pytest_browsereval.local_server import LocalHandler, LocalServer, PageAccess


class Hello(LocalHandler):
    def do_GET(self) -> None:
        self.send(200, "text/plain", b"hello", {"X-More": "1"})

    do_HEAD = do_GET


def test_a_closed_server_leaves_no_thread_and_no_connection() -> None:
    """The connections that clients keep alive are cut."""
    before = set(threading.enumerate())
    with LocalServer(Hello) as server:
        kept = http.client.HTTPConnection(server.server_name, server.server_port, timeout=30)
        for _ in range(2):
            kept.request("GET", "/")
            answer = kept.getresponse()
            assert (answer.read(), answer.headers["X-More"]) == (b"hello", "1")
        started = set(threading.enumerate()) - before
    assert kept.sock is not None
    assert kept.sock.recv(1) == b""
    kept.close()
    for thread in started:
        thread.join(30)
    assert not any(thread.is_alive() for thread in started)


def test_who_may_ask_for_a_page(subtests: pytest.Subtests) -> None:
    """A request names the server itself, once, and comes from its own page."""
    cases: list[tuple[list[tuple[str, str]], str | None]] = [
        ([("Host", "127.0.0.1:80")], None),
        ([("host", "localhost:80"), ("origin", "http://127.0.0.1:80")], None),
        ([("Host", "127.0.0.1:80"), ("Host", "127.0.0.1:80")], None),
        ([("Host", "127.0.0.1:80"), ("host", "evil.test")], "two names"),
        ([("Host", "evil.test:80")], "not this server's"),
        ([], "not this server's"),
        ([("Host", "127.0.0.1:80"), ("Origin", "http://evil.test")], "another origin"),
        ([("Host", "127.0.0.1:80"), ("Origin", "null")], "another origin"),
    ]
    for headers, refusal in cases:
        with subtests.test(headers=headers, refusal=refusal):
            access = PageAccess(80)
            found = access.find_refusal(headers, access.token)
            assert found is None if refusal is None else refusal in (found or "")


def test_a_page_needs_its_token() -> None:
    """Nothing that only looks like the token opens a page."""
    access = PageAccess(80)
    for token in ("", access.token[:-1], access.token + "x", "é", "\udcff"):
        assert access.find_refusal([("Host", "localhost:80")], token) is not None
