"""A proxy in front of one window that lets only allowed origins through.

Playwright does not ask about redirects, nor about the sockets of workers. No matter how a browser sends
something, it arrives here. Encrypted traffic passes as it is, by the host that it is for.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any, Self
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from pytest_browsereval.addresses import is_local
from pytest_browsereval.browsers.playwright.origins import PORTS, AllowedOrigins, origin_of

HEAD_BYTES = 1_000_000
"""The longest head of a message: browsers send addresses of 2 MB to nobody."""
CONNECT_S = 30.0
_CHUNK = 65_536
_OF_ONE_HOP = (b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive")
_STARTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_REFUSED = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class OriginFilter:
    """Listens on loopback and passes on what goes to allowed origins.

    Args:
        allowed: these.
    """

    def __init__(self, allowed: AllowedOrigins) -> None:
        self.allowed = allowed
        self.on_refused: Callable[[str], object] = lambda _: None
        """Called with the address of what did not get through; with the host of what is encrypted."""
        self.on_unreachable: Callable[[str], object] = lambda _: None
        """Called with what is wrong with an allowed origin: pages see only that nothing came back."""
        self._server: asyncio.Server | None = None
        self._port = 0
        self._open: set[asyncio.Task[Any]] = set()

    async def start(self) -> Self:
        """Begin to listen, on a free port."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=HEAD_BYTES)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    @property
    def options(self) -> dict[str, Any]:
        """The option of a context that puts the filter in front of it; addresses of this machine included."""
        # Chromium never sends loopback through a proxy unless `<-loopback>` says so.
        return {"proxy": {"server": f"http://127.0.0.1:{self._port}", "bypass": "<-loopback>"}}

    async def close(self) -> None:
        """Stop listening and cut off what is under way; closing twice is harmless."""
        if self._server is not None:
            self._server.close()
        # Connections of a server that is closed live on by themselves.
        for task in list(self._open):
            task.cancel()
        if self._open:
            await asyncio.wait(list(self._open))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if (task := asyncio.current_task()) is not None:
            self._open.add(task)
            task.add_done_callback(self._open.discard)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = head.partition(b"\r\n")[0].decode("latin-1").split(" ", 2)
            if method == "CONNECT":
                await self._tunnel(target, head, (reader, writer))
            else:
                await self._forward(target, head, (reader, writer))
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError):
            pass  # the browser sees a connection that ends without an answer
        finally:
            writer.close()

    async def _tunnel(self, place: str, head: bytes, browser: Streams) -> None:
        parts = urlsplit(f"//{place}")
        host, port = parts.hostname or "", parts.port or PORTS["https"]
        name = f"https://{parts.hostname}" if port == PORTS["https"] else place
        # A web socket without encryption comes this way as well.
        if not any(self.allowed.allow(f"{scheme}://{place}") for scheme in ("https", "http")):
            self.on_refused(name)
            browser[1].write(_REFUSED)
            return
        async with self._connect("https", host, port, name) as (server, proxy):
            if proxy:
                server[1].write(_change_head(head, head.partition(b"\r\n")[0], proxy))
            else:
                browser[1].write(_STARTED)
            await _relay(browser, server)

    async def _forward(self, url: str, head: bytes, browser: Streams) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or not parts.hostname:
            return
        if not self.allowed.allow(url):
            self.on_refused(url)
            return
        port = parts.port or PORTS["http"]
        async with self._connect("http", parts.hostname, port, origin_of(url)) as (server, proxy):
            line = head.partition(b"\r\n")[0]
            if not proxy:
                method, _, version = line.split(b" ", 2)
                path = url[url.index(parts.netloc) + len(parts.netloc) :]
                line = b" ".join((method, (path if path.startswith("/") else f"/{path}").encode(), version))
            server[1].write(_change_head(head, line, proxy))
            sending = asyncio.ensure_future(_copy(browser[0], server[1]))
            try:
                await _answer(server[0], browser[1])
                await _copy(server[0], browser[1])
            finally:
                sending.cancel()
                await asyncio.wait({sending})

    @contextlib.asynccontextmanager
    async def _connect(
        self, scheme: str, host: str, port: int, name: str
    ) -> AsyncIterator[tuple[Streams, str]]:
        """Connect to a server, or to the proxy that this machine reaches it by."""
        proxy = _proxy_for(scheme, host, port)
        parts = urlsplit(proxy)
        at = (parts.hostname or "", parts.port or PORTS["http"]) if proxy else (_resolvable(host), port)
        try:
            async with asyncio.timeout(CONNECT_S):
                server = await asyncio.open_connection(*at, limit=HEAD_BYTES)
        except OSError as error:
            self.on_unreachable(f"{name} cannot be reached: {error.strerror or error}")
            raise
        try:
            yield server, proxy
        finally:
            server[1].close()


def _resolvable(host: str) -> str:
    """Return a name that systems know, where browsers know more: all names below ``localhost``."""
    return "localhost" if host == "localhost" or host.endswith(".localhost") else host


def _proxy_for(scheme: str, host: str, port: int) -> str:
    """Return the proxy of this machine's environment, as browsers use it; empty where there is none."""
    proxy = getproxies().get(scheme, "")
    if not proxy or is_local(f"//[{host}]" if ":" in host else f"//{host}") or proxy_bypass(f"{host}:{port}"):
        return ""
    return proxy if "://" in proxy else f"http://{proxy}"


def _change_head(head: bytes, first_line: bytes, proxy: str = "") -> bytes:
    """Return the head of a message for the next hop, whose connection is for this message alone."""
    # One message for each connection: the next one may go to another host.
    lines = head.removesuffix(b"\r\n\r\n").split(b"\r\n")[1:]
    kept = [line for line in lines if line.partition(b":")[0].strip().lower() not in _OF_ONE_HOP]
    if user := urlsplit(proxy).username:
        secret = f"{unquote(user)}:{unquote(urlsplit(proxy).password or '')}".encode()
        kept.append(b"Proxy-Authorization: Basic " + base64.b64encode(secret))
    return b"\r\n".join((first_line, *kept, b"Connection: close", b"", b""))


async def _answer(server: asyncio.StreamReader, browser: asyncio.StreamWriter) -> None:
    """Pass on the head of a reply, and those of interim ones before it."""
    while True:
        head = await server.readuntil(b"\r\n\r\n")
        line = head.partition(b"\r\n")[0]
        # Replies such as 103 Early Hints come before the one that answers.
        if not line.split(b" ", 2)[1].startswith(b"1"):
            browser.write(_change_head(head, line))
            return
        browser.write(head)


async def _relay(browser: Streams, server: Streams) -> None:
    """Pass on everything both ways until one side has ended."""
    ways = {
        asyncio.ensure_future(_copy(browser[0], server[1])),
        asyncio.ensure_future(_copy(server[0], browser[1])),
    }
    try:
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for way in ways:
            way.cancel()
        await asyncio.wait(ways)


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_CHUNK):
            target.write(data)
            await target.drain()
