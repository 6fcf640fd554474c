"""An S3 server on this machine, and a proxy before it that spoils answers as real stores do."""

from __future__ import annotations

import http.client
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PATIENCE_S = 60.0
STALL_S = 3.0


@contextmanager
def s3_server(folder: Path) -> Iterator[int]:
    """Run moto's server; gives its port."""
    log = folder / "moto.log"
    with log.open("w") as file:
        process = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", "0"], stdout=file, stderr=file)
    try:
        yield _port(process, log)
    finally:
        process.kill()
        process.wait()


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and process.poll() is None:
        if found := re.search(r"Running on http://127\.0\.0\.1:(\d+)", log.read_text()):
            return int(found[1])
        time.sleep(0.05)
    raise AssertionError(
        f"moto's server does not listen; pip install 'moto[server]': {log.read_text()[-500:]}"
    )


class Faults:
    """What the proxy does to requests."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.seen: list[str] = []
        """``PUT /path`` of all requests."""
        self.claims = threading.Lock()
        """For one at a time."""
        self._planned: list[tuple[Callable[[str], bool], str]] = []

    def plan(self, fault: str, times: int, pattern: str) -> None:
        """Answer the next requests otherwise: with ``503 SlowDown``, ``reset``, ``lost``, ``stall``."""
        matches = re.compile(pattern).search
        self._planned += [(lambda line: bool(matches(line)), fault)] * times

    def take(self, line: str) -> str | None:
        """Return the fault of a request, which is then over."""
        self.seen.append(line)
        for place, (matches, fault) in enumerate(self._planned):
            if matches(line):
                del self._planned[place]
                return fault
        return None

    @property
    def is_over(self) -> bool:
        """Whether all of them have happened."""
        return not self._planned


class _Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    faults: Faults

    def _forward(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fault = self.faults.take(f"{self.command} {self.path}")
        if fault == "reset":
            self.connection.close()
            self.close_connection = True
            return
        if fault == "stall":
            time.sleep(STALL_S)
        if fault and fault[0].isdigit():
            status, code = fault.split()
            text = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>m</Message></Error>".encode()
            self._answer(int(status), {"Content-Type": "application/xml"}, text)
            return
        # moto looks whether the object is there and then writes it, so two can win. S3 does both at once.
        with self.faults.claims if "If-None-Match" in self.headers else nullcontext():
            server = http.client.HTTPConnection("127.0.0.1", self.faults.port, timeout=PATIENCE_S)
            server.request(self.command, self.path, body, dict(self.headers))
            answer = server.getresponse()
            content = answer.read()
            server.close()
        if fault == "lost":
            self.connection.close()
            self.close_connection = True
            return
        self._answer(answer.status, dict(answer.getheaders()), content)

    def _answer(self, status: int, headers: dict[str, str], content: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                self.send_header(name, value)
        is_head = self.command == "HEAD"
        self.send_header(
            "Content-Length", headers.get("Content-Length", "0") if is_head else str(len(content))
        )
        self.end_headers()
        if not is_head:
            self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = _forward

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 its name there
        """Print nothing."""


@contextmanager
def faulty(port: int) -> Iterator[tuple[str, Faults]]:
    """Run the proxy; gives its URL, and what it does."""
    faults = Faults(port)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Proxy", (_Proxy,), {"faults": faults}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", faults
    finally:
        with suppress(OSError):
            server.shutdown()
        server.server_close()
        thread.join()
