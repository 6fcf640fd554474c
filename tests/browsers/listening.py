"""Browsers that run already and listen for the DevTools protocol, and a relay in front of one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from pytest_browsereval.browsers.binary import candidates
from tests.forks import run_forked

PATIENCE_S = 30.0
_HTTP = httpx.Client(trust_env=False, timeout=PATIENCE_S, verify=False)  # noqa: S501 plain http; no certificates


PROGRAM = """
import asyncio, sys
from playwright.async_api import async_playwright

async def main():
    async with async_playwright() as driver:
        browser = await driver.chromium.connect_over_cdp(sys.argv[1])
        context = browser.contexts[0]
        page = next(page for page in context.pages if not page.url.endswith("/second"))
        {work}

asyncio.run(main())
"""


async def outside(url: str | None, *work: str) -> None:
    """Run a program of its own that attaches to a browser and works there."""
    assert url is not None
    program = PROGRAM.replace("{work}", "\n        ".join(work))
    command = [sys.executable, "-c", program, url]
    done = await asyncio.to_thread(run_forked, command, cwd=Path.cwd(), limit_s=60)
    assert done.returncode == 0, done.stderr.decode()


class Listening:
    """A Chromium that nobody under test has started."""

    def __init__(self, folder: Path, program: Path, port: int, *flags: str) -> None:
        self._log = (folder / "browser.log").open("wb")
        flags += (f"--remote-debugging-port={port}", f"--user-data-dir={folder / 'profile'}")
        command = [str(program), "--headless", "--no-sandbox", "--disable-gpu", *flags, "about:blank"]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log, start_new_session=True)
        if port:
            path = self._asked(port)
        else:
            told, path = self._told(folder / "profile" / "DevToolsActivePort")
            port = int(told)
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.socket_url = f"ws://127.0.0.1:{port}{path}"

    def _told(self, file: Path) -> list[str]:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            words = file.read_text().split() if file.exists() else []
            if len(words) == 2:
                return words
            assert time.monotonic() < deadline, "the browser does not say where it listens"
            time.sleep(0.02)

    def _asked(self, port: int) -> str:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            with contextlib.suppress(httpx.HTTPError):
                told = _HTTP.get(f"http://127.0.0.1:{port}/json/version")
                return str(httpx.URL(told.json()["webSocketDebuggerUrl"]).path)
            assert time.monotonic() < deadline, "the browser does not listen"
            time.sleep(0.02)

    @property
    def group(self) -> int:
        """The id of its process group."""
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def pages(self) -> list[str]:
        """Return the addresses of its tabs."""
        return list(self.pages_by_id().values())

    def pages_by_id(self) -> dict[str, str]:
        """Return the same by the ids of the tabs."""
        answer = _HTTP.get(f"{self.url}/json/list")
        return {page["id"]: page["url"] for page in answer.json() if page["type"] == "page"}

    def close_page(self, page_id: str) -> None:
        """Close a tab, also one whose dialog keeps a program from attaching to it."""
        _HTTP.get(f"{self.url}/json/close/{page_id}").raise_for_status()

    def assert_left_alone(self) -> None:
        """Assert that it runs and that nobody's tabs are left; those that close need a moment."""
        deadline = time.monotonic() + PATIENCE_S
        while self.pages() != ["about:blank"] and time.monotonic() < deadline:
            time.sleep(0.05)
        assert self.runs
        assert self.pages() == ["about:blank"]

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE_S)
        self._log.close()


@contextmanager
def listening(*flags: str, port: int = 0) -> Iterator[Listening]:
    """Run a browser with a profile of its own, at any free port unless told otherwise."""
    program = next(found.path for found in candidates() if found.path is not None)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Listening(Path(folder), program, port, *flags)
        try:
            yield browser
        finally:
            browser.end()


class Kept:
    """A port that nobody listens at, which nobody else is given either; whoever asks for it by number is.

    So only on Linux: elsewhere it cannot be held for somebody else, and is as free as any other.
    """

    def __init__(self) -> None:
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind(("127.0.0.1", 0))
        self.number: int = self._socket.getsockname()[1]
        if sys.platform != "linux":
            self._socket.close()

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


class Relay:
    """Stands before a browser. It can have it refuse contexts, go silent, and go away.

    A command's name is written over by one that no browser knows, so that the refusal is the browser's.

    Args:
        port: where the browser listens.
        refuses: the command that no client gets through.
    """

    def __init__(self, port: int, refuses: str = "") -> None:
        self._port = port
        self._refuses = refuses.encode()
        self._sockets: list[socket.socket] = []
        self._is_open = threading.Event()
        self._is_open.set()
        relay = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                relay._serve(self.request)

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A connection that breaks is what tests do to it."""

        self._kept = Kept()  # else another program may listen there once this has gone away
        self._server = Server(("127.0.0.1", self._kept.number), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def hang(self) -> None:
        """Let nothing through any more, in either direction."""
        self._is_open.clear()

    def drop(self) -> None:
        """Break every connection; new ones can be made."""
        sockets, self._sockets = self._sockets, []
        for one in sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Break every connection and listen no more."""
        self._server.shutdown()
        self._server.server_close()
        self._is_open.set()
        self.drop()
        self._thread.join(5)

    def release(self) -> None:
        """Close it and give its port back."""
        self.close()
        self._kept.__exit__()

    def _serve(self, client: socket.socket) -> None:
        browser = socket.create_connection(("127.0.0.1", self._port))
        self._sockets += [client, browser]
        answers = threading.Thread(target=self._pump, args=(browser, client), daemon=True)
        answers.start()
        head = _head(client)
        browser.sendall(head)
        if b"upgrade: websocket" in head.lower():
            with contextlib.suppress(OSError):
                while frame := _frame(client):
                    self._is_open.wait()
                    browser.sendall(self._refused(*frame))
        else:
            self._pump(client, browser)
        with contextlib.suppress(OSError):
            browser.shutdown(socket.SHUT_RDWR)
        answers.join()
        browser.close()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._is_open.wait()
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)

    def _refused(self, head: bytes, mask: bytes, payload: bytes) -> bytes:
        text = _masked(payload, mask)
        if self._refuses and self._refuses in text:
            payload = _masked(text.replace(self._refuses, b"x" * len(self._refuses)), mask)
        return head + mask + payload


def _head(client: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        piece = client.recv(1)
        if not piece:
            break
        data += piece
    return data


def _exactly(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = client.recv(size - len(data))
        if not piece:
            raise ConnectionError
        data += piece
    return data


def _frame(client: socket.socket) -> tuple[bytes, bytes, bytes]:
    """Return head, mask and payload of the next frame of a websocket's client."""
    head = _exactly(client, 2)
    size = head[1] & 127
    if size > 125:
        more = _exactly(client, 2 if size == 126 else 8)
        head, size = head + more, int.from_bytes(more)
    return head, _exactly(client, 4), _exactly(client, size)


def _masked(data: bytes, mask: bytes) -> bytes:
    repeated = (mask * (len(data) // 4 + 1))[: len(data)]
    return (int.from_bytes(data) ^ int.from_bytes(repeated)).to_bytes(len(data))


@contextmanager
def relayed(port: int, *, refuses: str = "") -> Iterator[Relay]:
    """Run a relay before a browser."""
    relay = Relay(port, refuses)
    try:
        yield relay
    finally:
        relay.release()
