"""The HTTP server of an attempt: a port of 127.0.0.1 of its own, and a token."""

from __future__ import annotations

import asyncio
import hmac
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from contextvars import Context
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.errors import ErrorSource
from pytest_browsereval.features.programs.server.served import PATH, App, Receive, Scope, Send, build_app
from pytest_browsereval.features.programs.server.toolbox import SharedToolbox
from pytest_browsereval.local_server import HOST
from pytest_browsereval.tools.toolbox import Toolbox
from pytest_browsereval.tools.toolkit import Toolkit

if TYPE_CHECKING:
    from uvicorn import Server

SETTINGS: dict[str, Any] = {
    "lifespan": "on",
    "ws": "none",
    "log_config": None,
    "log_level": "critical",
    "access_log": False,
    "server_header": False,
    "timeout_graceful_shutdown": 1,
}
"""A server that says nothing of itself, in the terminal or in its answers."""

_TOKEN_PREFIX = secrets.token_hex(16)


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
    """Requests without its token."""


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
    stack, toolbox = AsyncExitStack(), SharedToolbox(tools, capture, kits)
    try:
        # Opened here, so that the port is known before the first request.
        listener = stack.enter_context(socket.create_server((HOST, 0)))
        port = listener.getsockname()[1]
        endpoint = Endpoint(f"http://{HOST}:{port}{PATH}", _TOKEN_PREFIX + secrets.token_hex(16), toolbox)
        stack.callback(_tell_refused, endpoint, capture)
        app = _guard(endpoint, build_app(toolbox, (f"{HOST}:{port}", f"localhost:{port}")))
        stack.push_async_callback(toolbox.close)
        # Requests are no part of what the attempt does itself.
        listening = asyncio.create_task(_listen(listener, app), context=Context())
        stack.push_async_callback(_stop, await listening, listener)
        # A program may think while its pictures are drawn, unless it drives the page without the tools.
        async with nullcontext() if capture.window.cdp_url is not None else capture.going_ahead():
            yield endpoint
    finally:
        await asyncio.shield(asyncio.ensure_future(stack.aclose()))


def _tell_refused(endpoint: Endpoint, capture: CaptureContext) -> None:
    for count, what in (
        (endpoint.refused, "requests for its tools had no token or a wrong one"),
        (endpoint.toolbox.late_calls, "tool calls came after the task was over, and were refused"),
    ):
        if count:
            capture.add_warning(ErrorSource.AGENT, f"{count} {what}")


async def _listen(listener: socket.socket, app: App) -> Server:
    import uvicorn

    config = uvicorn.Config(app, **SETTINGS)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    # Not serve(): that would take over the signal handlers of pytest.
    await server.startup(sockets=[listener])
    return server


async def _stop(server: Server, listener: socket.socket) -> None:
    # Connections that programs keep open would hold the end up.
    server.force_exit = True
    await server.shutdown(sockets=[listener])
    await server.lifespan.shutdown()


def _guard(endpoint: Endpoint, app: App) -> App:
    """Return what answers requests: those that show the token of the running attempt get to its tools."""
    expected = f"Bearer {endpoint.token}".encode()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        if scope["path"].rstrip("/") != PATH:
            await _refuse(send, 404, "nothing is served here")
            return
        given = dict(scope["headers"]).get(b"authorization", b"")
        if not hmac.compare_digest(given, expected) or endpoint.toolbox.is_closed:
            endpoint.refused += 1
            await _refuse(send, 401, "the token is missing, wrong, or of an attempt that is over")
            return
        await app(scope, receive, send)

    return answer


async def _refuse(send: Send, status: int, why: str) -> None:
    headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": why.encode()})
