"""A service on a real socket that is posted pictures and answers with actions."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pytest_browsereval.local_server import LocalHandler, LocalServer

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

        class Handler(LocalHandler):
            protocol_version = "HTTP/1.0"  # a body that is too short ends with its connection

            def do_POST(self) -> None:
                service.answer(self)

        self._server = LocalServer(Handler).start()
        self.url = f"{self._server.url}/act"

    def answer(self, request: LocalHandler) -> None:
        body = json.loads(request.rfile.read(int(request.headers["content-length"])))
        number = len(self.requests)
        self.requests.append(body)
        self.keys.append(request.headers["authorization"])
        said = self._script(body) if callable(self._script) else self._script[number]
        said = said if isinstance(said, Said) else says(said)
        self._closing.wait(said.delay_s)
        with suppress(ConnectionError):  # the client has hung up, as it should
            request.send(said.status, "application/json", said.body, said.headers)

    def close(self) -> None:
        self._closing.set()
        self._server.close()
