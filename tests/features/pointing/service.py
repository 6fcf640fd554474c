"""A service on a real socket that is posted pictures and answers with actions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Said:
    """One answer of the service, as it goes over the wire."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_s: float = 0.0


def says(body: Any, status: int = 200, **headers: str) -> Said:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Said(data, status, {name.replace("_", "-"): value for name, value in headers.items()})


Script = Sequence[Any] | Callable[[Json], Any]


class Service:
    """A service on a real socket that answers from a script."""

    def __init__(self, script: Script) -> None:
        self.requests: list[Json] = []
        self.keys: list[str | None] = []
        self._script = script
        self._closing = threading.Event()
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                service.answer(self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Stay silent."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/act"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        body = json.loads(request.rfile.read(int(request.headers["content-length"])))
        number = len(self.requests)
        self.requests.append(body)
        self.keys.append(request.headers["authorization"])
        said = self._script(body) if callable(self._script) else self._script[number]
        said = said if isinstance(said, Said) else says(said)
        self._closing.wait(said.delay_s)
        try:
            request.send_response(said.status)
            for name, value in {"Content-Length": str(len(said.body)), **said.headers}.items():
                request.send_header(name, value)
            request.end_headers()
            request.wfile.write(said.body)
        except ConnectionError:
            pass  # the client has hung up, as it should

    def close(self) -> None:
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)
