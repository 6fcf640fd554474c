"""A folder served over HTTP on the loopback, by a thread of this process."""

from __future__ import annotations

import asyncio
import contextlib
import mimetypes
import socket
import socketserver
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from pytest_browsereval.sites.base import Site

_TYPES = {
    **mimetypes.MimeTypes().types_map[True],  # Python's own, whatever the machine has registered
    ".avif": "image/avif",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
_TEXT_TYPES = ("text/", "application/json", "application/manifest+json", "image/svg+xml")

_POLL_S = 0.1


class StaticSite(Site):
    """A folder of files; nothing can change it, so it is never reset."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        """The base URL; empty before ``start``."""
        return f"http://127.0.0.1:{self._server.server_port}" if self._server else ""

    async def start(self) -> None:
        """Bind a free port and serve from a thread."""
        self._server = _Server(self._folder.resolve())
        threading.Thread(
            target=self._server.serve_forever, args=(_POLL_S,), name=f"site {self._folder.name}", daemon=True
        ).start()

    async def reset(self) -> None:
        """Do nothing: files do not change."""

    @property
    def has_ended(self) -> bool:
        """False: it lives as long as the process."""
        return False

    async def trouble(self) -> str | None:
        """Return None: there is nothing that could break."""
        return None

    async def close(self) -> None:
        """Give the port back and cut the connections."""
        server, self._server = self._server, None
        if server is not None:
            await asyncio.to_thread(server.stop)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, root: Path) -> None:
        self.root = root
        self._connections: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def server_bind(self) -> None:
        # HTTPServer's own asks for the host's full name as well, which may wait for a name server.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: browsers drop connections whenever they like."""

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1  # head and body in one packet
    server: _Server

    def do_GET(self) -> None:
        """Answer with a file."""
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        """Answer with what a GET would say of the file."""
        self._answer(with_body=False)

    def _answer(self, *, with_body: bool) -> None:
        path, location = find_file(self.server.root, self.path)
        if location is not None:
            self._send(HTTPStatus.MOVED_PERMANENTLY, "text/plain", b"", location=location)
            return
        try:
            body = path.read_bytes() if path else None
        except OSError:
            body = None
        if path is None or body is None:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", b"not found\n" if with_body else b"")
            return
        self._send(HTTPStatus.OK, media_type(path), body, with_body=with_body)

    def _send(
        self, status: HTTPStatus, kind: str, body: bytes, *, location: str = "", with_body: bool = True
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if location:
            self.send_header("Location", location)
        if status is HTTPStatus.OK:
            self.send_header("Cache-Control", "max-age=3600")
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def version_string(self) -> str:
        """Keep the versions of Python to ourselves."""
        return "browsereval"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 the base's name
        """Say nothing: the browser's own record has every request."""


def find_file(root: Path, target: str) -> tuple[Path | None, str | None]:
    """Return the file that a request asks for, or where to look instead, or neither.

    Args:
        root: the folder that is served, resolved; nothing outside it is ever returned.
        target: the path of the request, with its query.
    """
    path = unquote(target.partition("?")[0].partition("#")[0])
    parts = [part for part in path.split("/") if part]
    if "\0" in path or "\\" in path or ".." in parts or any(":" in part for part in parts[:1]):
        return None, None
    try:
        found = root.joinpath(*parts).resolve()
        if not found.is_relative_to(root):
            return None, None
        if found.is_dir() and not path.endswith("/"):
            return None, quote("/" + "/".join(parts) + "/")
        if path.endswith("/"):
            found = (found / "index.html").resolve()
        return (found, None) if found.is_file() and found.is_relative_to(root) else (None, None)
    except (OSError, RuntimeError):  # a name that is too long, a loop of links
        return None, None


def media_type(path: Path) -> str:
    """Return the Content-Type of a file, by its suffix."""
    kind = _TYPES.get(path.suffix.lower(), "application/octet-stream")
    return f"{kind}; charset=utf-8" if kind.startswith(_TEXT_TYPES) else kind
