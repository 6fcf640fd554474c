"""Small web servers on the loopback."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import Any, Self

HOST = "127.0.0.1"
# For the thread of a server to end.
CLOSE_S = 5.0

_POLL_S = 0.02  # `shutdown` waits until the serving thread looks up again
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class LocalServer(ThreadingHTTPServer):
    """Serves from a thread of its own, from `start` to `close`, or in a `with` block.

    Args:
        handler: answers the requests.
        port: where to listen; 0 takes a free port.
        host: an address of the loopback.

    Raises:
        OSError: the port is taken.
        OverflowError: the port is not one.
    """

    daemon_threads = True
    request_queue_size = 128  # a page with many pictures opens many connections at once

    def __init__(self, handler: type[BaseHTTPRequestHandler], port: int = 0, host: str = HOST) -> None:
        self._connections: set[socket.socket] = set()
        super().__init__((host, port), handler)
        name = f"server {self.server_port}"
        self._thread = threading.Thread(target=self.serve_forever, args=(_POLL_S,), name=name, daemon=True)

    @property
    def url(self) -> str:
        """The base URL, without a slash at its end."""
        return f"http://{self.server_name}:{self.server_port}"

    def start(self) -> Self:
        """Serve."""
        self._thread.start()
        return self

    def close(self) -> None:
        """Give the port back and cut the connections that clients keep alive."""
        self.shutdown()
        self.server_close()
        # A copy: threads of the connections take theirs out while they end.
        for connection in list(self._connections):
            with contextlib.suppress(OSError):  # it is closed already
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(CLOSE_S)

    def __enter__(self) -> Self:
        """Serve."""
        return self.start()

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()

    # -- called by the standard library

    def server_bind(self) -> None:
        """Bind the port and keep the address as the name.

        HTTPServer's own method asks for the host's full name as well, which may wait for a name server.
        """
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection, to be able to cut it."""
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection."""
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing: clients drop connections whenever they like."""


class LocalHandler(BaseHTTPRequestHandler):
    """Base of handlers: connections are kept alive, nothing is logged."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body leave in one packet

    def send(
        self, status: int, media_type: str, body: bytes, headers: Mapping[str, str] = _NO_HEADERS
    ) -> None:
        """Send an answer; one to HEAD without its body."""
        self.send_response(status)
        length = str(len(body))
        for name, value in {"Content-Type": media_type, "Content-Length": length, **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def version_string(self) -> str:
        """Keep the versions of Python to ourselves."""
        return "browsereval"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base's name
        """Print nothing: a line would hold the token of a page; what a site serves, the browser records."""
