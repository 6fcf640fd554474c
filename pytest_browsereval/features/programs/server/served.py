"""A toolbox as an MCP server: lists the tools with their schemas, and calls them."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
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


@asynccontextmanager
async def hold_sessions(toolbox: SharedToolbox, hosts: tuple[str, ...]) -> AsyncIterator[App]:
    """Speak MCP for one toolbox, over streamable HTTP, while the block runs; yields what answers requests.

    Args:
        toolbox: takes the calls; it is closed at the end.
        hosts: values of the header ``Host`` that are ours, against DNS rebinding; an ``Origin``, which
            only web pages send, is refused.
    """
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
    from mcp.server.transport_security import TransportSecuritySettings

    manager = StreamableHTTPSessionManager(
        _server(toolbox),
        security_settings=TransportSecuritySettings(allowed_hosts=list(hosts)),
        max_sessions=_NO_SESSIONS_BEYOND,
    )
    ready, stop = asyncio.Event(), asyncio.Event()

    async def host() -> None:
        async with manager.run():
            ready.set()
            await stop.wait()

    # In a task of its own: what breaks in a session must not cancel the attempt's.
    hosting = asyncio.create_task(host())
    try:
        await ready.wait()
        yield manager.handle_request
    finally:
        await toolbox.close()
        stop.set()
        await asyncio.wait({hosting})


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
