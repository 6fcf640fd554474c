"""A folder served over HTTP on the loopback, by a thread of this process."""

from __future__ import annotations

import asyncio
import mimetypes
from collections.abc import Sequence
from http import HTTPStatus
from pathlib import Path
from urllib.parse import quote, unquote

from pytest_browsereval.local_server import LocalHandler, LocalServer
from pytest_browsereval.sites.base import Site

_TYPES = {
    **mimetypes.MimeTypes().types_map[True],  # Python's own table: that of the machine may differ
    ".avif": "image/avif",
    ".js": "text/javascript",
    ".map": "application/json",
    ".mjs": "text/javascript",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}
_TEXT_TYPES = ("text/", "application/json", "application/manifest+json", "image/svg+xml")


class StaticSite(Site):
    """A folder of files; nothing can change it, so it is never reset.

    Args:
        folder: what is served.
        withheld: files and folders that are not, where they lie in it.
    """

    def __init__(self, folder: Path, withheld: Sequence[Path] = ()) -> None:
        self._folder = folder
        self._withheld = withheld
        self._server: _Server | None = None

    @property
    def url(self) -> str:
        """The base URL; empty before ``start``."""
        return self._server.url if self._server else ""

    async def start(self) -> None:
        """Bind a free port and serve from a thread."""
        self._server = _Server(self._folder.resolve(), [one.resolve() for one in self._withheld])
        self._server.start()

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
            await asyncio.to_thread(server.close)


class _Server(LocalServer):
    def __init__(self, root: Path, withheld: Sequence[Path]) -> None:
        self.root = root
        self.withheld = [one for one in withheld if not root.is_relative_to(one)]
        super().__init__(_Handler)


class _Handler(LocalHandler):
    server: _Server

    def do_GET(self) -> None:
        """Answer with a file."""
        path, location = find_file(self.server.root, self.path)
        if location is not None:
            self.send(HTTPStatus.MOVED_PERMANENTLY, "text/plain", b"", {"Location": location})
            return
        if path and any(path.is_relative_to(one) for one in self.server.withheld):
            path = None
        try:
            body = path.read_bytes() if path else None
        except OSError:
            body = None
        if path is None or body is None:
            self.send(HTTPStatus.NOT_FOUND, "text/plain", b"not found\n")
        else:
            self.send(HTTPStatus.OK, media_type(path), body, {"Cache-Control": "max-age=3600"})

    do_HEAD = do_GET  # without the body, see `send`


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
