"""Servers on the loopback leave nothing behind."""

from __future__ import annotations

import http.client
import threading

from pytest_browsereval.local_server import LocalHandler, LocalServer


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
