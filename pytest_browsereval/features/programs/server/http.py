"""The HTTP server of a loop: one port on 127.0.0.1, one path and token for each attempt that is running."""

from __future__ import annotations

import asyncio
import hmac
import re
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from contextvars import Context
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.features.programs.server.served import Receive, Scope, Send, ToolboxServer
from pytest_browsereval.features.programs.server.toolbox import SharedToolbox
from pytest_browsereval.local_server import HOST
from pytest_browsereval.tools.toolbox import Toolbox
from pytest_browsereval.tools.toolkit import Toolkit

if TYPE_CHECKING:
    from uvicorn import Server

SETTINGS: dict[str, Any] = {
    "lifespan": "off",
    "ws": "none",
    "log_config": None,
    "log_level": "critical",
    "access_log": False,
    "server_header": False,
    "timeout_graceful_shutdown": 1,
}
"""A server that says nothing of itself, in the terminal or in its answers."""

_PATH = re.compile(r"/([0-9a-f]+)/mcp/?")
_TOKEN_PREFIX = secrets.token_hex(16)


def new_token() -> str:
    """Return a token for one attempt. All tokens of this process begin alike."""
    return _TOKEN_PREFIX + secrets.token_hex(16)


def common_part() -> str:
    """Return what all tokens of this process begin with: redacting it makes any of them useless."""
    return _TOKEN_PREFIX


@dataclass
class Endpoint:
    """Where a program finds the tools of one attempt."""

    url: str
    token: str
    toolbox: SharedToolbox
    refused: int = 0
    """Requests to its path without its token."""


class ToolServer:
    """Serves attempts of one loop, for as long as there is one."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._attempts: dict[str, tuple[Endpoint, ToolboxServer]] = {}
        self._listener: socket.socket | None = None
        self._server: Server | None = None

    async def open(self, toolbox: SharedToolbox) -> tuple[str, Endpoint]:
        """Serve a toolbox; returns its key and where it is."""
        async with self._lock:
            try:
                return await self._admit(toolbox)
            except BaseException:
                await self._stop_if_idle()
                raise

    async def _admit(self, toolbox: SharedToolbox) -> tuple[str, Endpoint]:
        if self._listener is None:
            # Requests are no part of the attempt that happened to need the server first.
            await asyncio.create_task(self._start(), context=Context())
        assert self._listener is not None  # noqa: S101 set by the start
        port = self._listener.getsockname()[1]
        served = ToolboxServer(toolbox, (f"{HOST}:{port}", f"localhost:{port}"))
        await served.start()
        key = secrets.token_hex(8)
        endpoint = Endpoint(f"http://{HOST}:{port}/{key}/mcp", new_token(), toolbox)
        self._attempts[key] = (endpoint, served)
        return key, endpoint

    async def close(self, key: str) -> None:
        """Serve it no more, and stop with the last one."""
        _, served = self._attempts.pop(key)  # from here on its token opens nothing
        await served.close()
        async with self._lock:
            await self._stop_if_idle()

    # -- the server

    async def _start(self) -> None:
        import uvicorn

        # Opened here, so that the port is known before the first request.
        listener = socket.create_server((HOST, 0))
        config = uvicorn.Config(self, **SETTINGS)
        config.load()
        server = uvicorn.Server(config)
        server.lifespan = config.lifespan_class(config)
        try:
            # Not serve(): that would take over the signal handlers of pytest.
            await server.startup(sockets=[listener])
        except BaseException:
            listener.close()
            raise
        self._listener, self._server = listener, server

    async def _stop_if_idle(self) -> None:
        if self._attempts or self._server is None:
            return
        server, listener = self._server, self._listener
        self._server = self._listener = None
        # Connections that programs keep open would hold the end up.
        server.force_exit = True
        await server.shutdown(sockets=[listener] if listener else None)

    # -- requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request: only who shows the token of a running attempt gets to its tools."""
        match = _PATH.fullmatch(scope["path"])
        if match is None:
            await _refuse(send, 404, "nothing is served here")
            return
        entry = self._attempts.get(match[1])
        given = dict(scope["headers"]).get(b"authorization", b"")
        # Compared in any case, so that the time does not tell which attempts run.
        expected = f"Bearer {entry[0].token if entry else new_token()}".encode()
        if not hmac.compare_digest(given, expected) or entry is None:
            if entry is not None:
                entry[0].refused += 1
            await _refuse(send, 401, "the token is missing, wrong, or of an attempt that is over")
            return
        await entry[1].handle(scope, receive, send)


async def _refuse(send: Send, status: int, why: str) -> None:
    headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": why.encode()})


_servers: WeakKeyDictionary[asyncio.AbstractEventLoop, ToolServer] = WeakKeyDictionary()


@asynccontextmanager
async def serving(
    tools: Toolbox, capture: CaptureContext, kits: Sequence[Toolkit] = ()
) -> AsyncIterator[Endpoint]:
    """Serve the tools of an attempt over MCP while the block runs.

    Every call is recorded, counted, limited and pictured as any other one.

    Args:
        tools: the attempt's toolbox.
        capture: the attempt's recorder.
        kits: the toolkits of the run: programs read their policy in the server's instructions, and are
            not offered what they veto.

    Raises:
        OSError: no port can be opened.
    """
    for name in ("uvicorn", "mcp.server.lowlevel"):
        if name not in sys.modules:  # that takes most of a second, while the other lanes go on
            await asyncio.to_thread(import_module, name)
    server = _servers.setdefault(asyncio.get_running_loop(), ToolServer())
    key, endpoint = await server.open(SharedToolbox(tools, capture, kits))
    try:
        # A program may think while its pictures are drawn, unless it drives the page without the tools.
        async with nullcontext() if capture.window.cdp_url is not None else capture.going_ahead():
            yield endpoint
    finally:
        await asyncio.shield(asyncio.ensure_future(server.close(key)))
        late = endpoint.toolbox.late_calls
        for count, what in (
            (endpoint.refused, "requests for its tools had no token or a wrong one"),
            (late, "tool calls came after the task was over, and were refused"),
        ):
            if count:
                capture.add_warning(ErrorSource.AGENT, f"{count} {what}")
