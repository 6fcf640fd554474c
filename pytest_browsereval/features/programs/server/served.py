"""A toolbox as an MCP server: lists the tools with their schemas, and calls them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from pytest_browsereval.features.programs.server.toolbox import Answer, SharedToolbox

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.types import CallToolResult

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

NAME = "browser"
"""What the server calls itself."""

INSTRUCTIONS = (
    "Tools that act in the browser window of one task. Call done with the answer when the task is done."
)

_NO_SESSIONS_BEYOND = 32


class ToolboxServer:
    """Speaks MCP for one toolbox, over streamable HTTP.

    Args:
        toolbox: takes the calls.
        hosts: values of the header ``Host`` that are ours, against DNS rebinding; an ``Origin``, which
            only web pages send, is refused.
    """

    def __init__(self, toolbox: SharedToolbox, hosts: tuple[str, ...]) -> None:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
        from mcp.server.transport_security import TransportSecuritySettings

        self.toolbox = toolbox
        self._manager = StreamableHTTPSessionManager(
            _server(toolbox),
            security_settings=TransportSecuritySettings(allowed_hosts=list(hosts)),
            max_sessions=_NO_SESSIONS_BEYOND,
        )
        self._stop = asyncio.Event()
        self._host: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Be ready for requests."""
        ready = asyncio.Event()
        self._host = asyncio.create_task(self._run(ready))
        waiting = asyncio.create_task(ready.wait())
        try:
            await asyncio.wait({self._host, waiting}, return_when=asyncio.FIRST_COMPLETED)
        except BaseException:
            self._host.cancel()
            raise
        finally:
            waiting.cancel()
        # It ended before it was ready: raises why.
        if self._host.done():
            self._host.result()

    async def _run(self, ready: asyncio.Event) -> None:
        # In a task of its own: what breaks in a session must not cancel the attempt's.
        async with self._manager.run():
            ready.set()
            await self._stop.wait()

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, which has shown the token."""
        await self._manager.handle_request(scope, receive, send)

    async def close(self) -> None:
        """End all sessions."""
        await self.toolbox.close()
        self._stop.set()
        if self._host is not None:
            await asyncio.wait({self._host})


def _server(toolbox: SharedToolbox) -> Server[Any]:
    from mcp import types
    from mcp.server.lowlevel import Server

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        del context, params
        toolbox.was_asked = True
        return types.ListToolsResult(
            tools=[
                types.Tool(name=tool.name, description=tool.description, input_schema=tool.schema)
                for tool in toolbox.tools
            ]
        )

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        del context
        return _result(await toolbox.call(params.name, dict(params.arguments or {})))

    text = "\n\n".join(filter(None, (INSTRUCTIONS, toolbox.policy)))
    return Server(NAME, instructions=text, on_list_tools=list_tools, on_call_tool=call_tool)


def _result(answer: Answer) -> CallToolResult:
    from mcp import types

    content: list[types.ContentBlock] = [types.TextContent(type="text", text=answer.output)]
    if answer.picture is not None:
        data = base64.b64encode(answer.picture).decode()
        content.append(types.ImageContent(type="image", data=data, mime_type=answer.media_type))
    return types.CallToolResult(content=content, is_error=not answer.ok)
