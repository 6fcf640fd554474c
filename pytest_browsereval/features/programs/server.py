"""The tools of a running attempt, served over MCP to programs that know its token."""

from __future__ import annotations

import asyncio
import base64
import contextvars
import hmac
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pytest_browsereval.capture.context import CaptureContext
from pytest_browsereval.errors import ErrorSource, Fault, LimitReached
from pytest_browsereval.features.shared.tool_loop.selection import policy_text
from pytest_browsereval.local_server import HOST
from pytest_browsereval.tools.base import Tool
from pytest_browsereval.tools.toolbox import Toolbox
from pytest_browsereval.tools.toolkit import Toolkit
from pytest_browsereval.tools.toolkits import vetoes

if TYPE_CHECKING:
    from mcp.types import CallToolResult, ListToolsResult
    from uvicorn import Server

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/mcp"
NAME = "browser"
"""What the server calls itself."""

INSTRUCTIONS = (
    "Tools that act in the browser window of one task. Call done with the answer when the task is done."
)

PICTURE_TOOL = "screenshot"
"""The tool whose answer is a picture as well as a text."""

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

_MOST_SESSIONS = 32
TOKEN_PREFIX = secrets.token_hex(16)
"""What all tokens of this process begin with: redacting it makes any of them useless."""


class ToolServer:
    """The tools of one attempt, which take calls from any number of connections, one at a time.

    A call that was begun is finished and recorded even if its caller has gone; what ends the attempt
    (a limit, a dead window) is kept in ``ending`` for the agent to raise.

    Args:
        tools: the attempt's toolbox.
        capture: the attempt's recorder.
        kits: the toolkits of the run: programs read their policy in the server's instructions, and are not
            offered what they veto.
        port: where it listens.
    """

    def __init__(self, tools: Toolbox, capture: CaptureContext, kits: Sequence[Toolkit], port: int) -> None:
        self._tools = tools
        self._capture = capture
        self._kits = kits
        self._vetoed = vetoes(kits, [tool.name for tool in tools.tools])
        self._turn = asyncio.Lock()
        self._context = contextvars.copy_context()
        self._running: set[asyncio.Task[CallToolResult]] = set()
        self._port = port
        self.url = f"http://{HOST}:{port}{PATH}"
        self.token = TOKEN_PREFIX + secrets.token_hex(16)
        self.is_closed = False
        """Whether its attempt is over."""
        self.was_asked = False
        """Whether a program has asked which tools there are, or has called one."""
        self.late_calls = 0
        """How many calls came after the task was over."""
        self.refused = 0
        """Requests without its token."""
        self.ending: Fault | LimitReached | None = None
        """What has ended the attempt in a call."""
        self.is_over = asyncio.Event()
        """Set with ``ending``, or once the finishing tool was called."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that are switched on and of use."""
        return tuple(tool for tool in self._tools.tools if tool.name not in self._vetoed)

    # -- the protocol

    def build_app(self) -> App:
        """Return what speaks MCP, over streamable HTTP at ``PATH``, while its lifespan lasts."""
        from mcp.server.lowlevel import Server
        from mcp.server.transport_security import TransportSecuritySettings

        policy = policy_text(self._kits, [tool.name for tool in self.tools])
        text = "\n\n".join(filter(None, (INSTRUCTIONS, policy)))
        server: Server[Any] = Server(
            NAME, instructions=text, on_list_tools=self._list_tools, on_call_tool=self._call_tool
        )
        # Against DNS rebinding; an `Origin`, which only web pages send, is refused.
        hosts = [f"{HOST}:{self._port}", f"localhost:{self._port}"]
        return server.streamable_http_app(
            streamable_http_path=PATH,
            transport_security=TransportSecuritySettings(allowed_hosts=hosts),
            max_sessions=_MOST_SESSIONS,
        )

    def guard(self, app: App) -> App:
        """Return what answers requests: those that show the token of the running attempt get to its tools."""
        expected = f"Bearer {self.token}".encode()

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "lifespan":
                await app(scope, receive, send)
            elif scope["path"].rstrip("/") != PATH:
                await _refuse(send, 404, "nothing is served here")
            elif self.is_closed or not hmac.compare_digest(
                dict(scope["headers"]).get(b"authorization", b""), expected
            ):
                self.refused += 1
                await _refuse(send, 401, "the token is missing, wrong, or of an attempt that is over")
            else:
                await app(scope, receive, send)

        return answer

    async def _list_tools(self, _context: Any, _params: Any) -> ListToolsResult:
        from mcp import types

        self.was_asked = True
        listed = [
            types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema)
            for tool in self.tools
        ]
        return types.ListToolsResult(tools=listed)

    async def _call_tool(self, _context: Any, params: Any) -> CallToolResult:
        # The attempt's own context: a request would bring the one in which its connection was accepted.
        task = asyncio.get_running_loop().create_task(
            self._take_turn(params.name, dict(params.arguments or {})), context=self._context.copy()
        )
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        # A caller that hangs up cancels its request: what was begun in the page is recorded all the same.
        return await asyncio.shield(task)

    # -- one call

    async def _take_turn(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        self.was_asked = True
        async with self._turn:
            if self.ending is None and not self.is_closed:
                if self._tools.is_done:
                    self.late_calls += 1
                    return _answer("The task is over: it was ended already. Call no more tools.")
                try:
                    return await self._run(name, arguments)
                except (Fault, LimitReached) as error:
                    self.ending = error
                except Exception as error:  # noqa: BLE001 what breaks in our own parts ends the attempt
                    self.ending = Fault(ErrorSource.HARNESS, f"{name} broke: {type(error).__name__}: {error}")
                self.is_over.set()
            return _answer(f"The attempt is over: {self.ending or 'it was stopped'}.")

    async def _run(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        # Not listed, but programs call what they remember.
        if name in self._vetoed:
            why = f"{name} is not offered: {self._vetoed[name]}"
            return _answer((await self._tools.refuse(name, arguments, why)).output)
        before = self._capture.screenshot.count
        result = await self._tools.call(name, arguments)
        if self._tools.is_done:
            self.is_over.set()
        picture = await self._picture(before) if name == PICTURE_TOOL and result.ok else None
        return _answer(result.output, picture, f"image/{self._capture.config.picture}", ok=result.ok)

    async def _picture(self, before: int) -> bytes | None:
        """Return the picture that was recorded for the call, or one of its own where none was."""
        capture = self._capture
        try:
            await capture.settle()
            if capture.screenshot.count > before:
                return capture.screenshot.path(capture.screenshot.count).read_bytes()
            return await capture.window.screenshot(capture.config.picture, capture.config.quality)
        except (Fault, OSError) as error:
            capture.add_warning(ErrorSource.SCREENSHOT, f"no picture for the program: {error}")
            return None

    async def close(self) -> None:
        """Take no more calls, and cut off those that are running."""
        self.is_closed = True
        running = list(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def warn(self) -> None:
        """Record what was refused."""
        for count, what in (
            (self.refused, "requests for its tools had no token or a wrong one"),
            (self.late_calls, "tool calls came after the task was over, and were refused"),
        ):
            if count:
                self._capture.add_warning(ErrorSource.AGENT, f"{count} {what}")


def _answer(
    output: str, picture: bytes | None = None, media_type: str = "", *, ok: bool = False
) -> CallToolResult:
    from mcp import types

    content: list[types.ContentBlock] = [types.TextContent(type="text", text=output)]
    if picture is not None:
        data = base64.b64encode(picture).decode()
        content.append(types.ImageContent(type="image", data=data, mime_type=media_type))
    return types.CallToolResult(content=content, is_error=not ok)


async def _refuse(send: Send, status: int, why: str) -> None:
    headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": why.encode()})


@asynccontextmanager
async def serving(
    tools: Toolbox, capture: CaptureContext, kits: Sequence[Toolkit] = ()
) -> AsyncIterator[ToolServer]:
    """Serve the tools of an attempt over MCP while the block runs.

    Every call is recorded, counted, limited and pictured as any other one.

    Raises:
        OSError: no port can be opened.
    """
    for name in ("uvicorn", "mcp.server.lowlevel"):
        if name not in sys.modules:  # that takes most of a second, while the other lanes go on
            await asyncio.to_thread(import_module, name)
    stack = AsyncExitStack()
    try:
        # Opened here, so that the port is known before the first request.
        listener = stack.enter_context(socket.create_server((HOST, 0)))
        server = ToolServer(tools, capture, kits, listener.getsockname()[1])
        stack.callback(server.warn)
        app = server.guard(server.build_app())
        stack.push_async_callback(server.close)
        # Requests are no part of what the attempt does itself.
        listening = asyncio.create_task(_listen(listener, app), context=contextvars.Context())
        stack.push_async_callback(_stop, await listening, listener)
        # A program may think while its pictures are drawn, unless it drives the page without the tools.
        async with nullcontext() if capture.window.cdp_url is not None else capture.going_ahead():
            yield server
    finally:
        await asyncio.shield(asyncio.ensure_future(stack.aclose()))


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
