"""A toolbox as an MCP server: lists the tools with their schemas, and calls them."""

from __future__ import annotations

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

PATH = "/mcp"
NAME = "browser"
"""What the server calls itself."""

INSTRUCTIONS = (
    "Tools that act in the browser window of one task. Call done with the answer when the task is done."
)

_NO_SESSIONS_BEYOND = 32


def build_app(toolbox: SharedToolbox, hosts: tuple[str, ...]) -> App:
    """Return what speaks MCP for one toolbox, over streamable HTTP at ``PATH``, while its lifespan lasts.

    Args:
        toolbox: takes the calls.
        hosts: values of the header ``Host`` that are ours, against DNS rebinding; an ``Origin``, which
            only web pages send, is refused.
    """
    from mcp.server.transport_security import TransportSecuritySettings

    return _server(toolbox).streamable_http_app(
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(allowed_hosts=list(hosts)),
        max_sessions=_NO_SESSIONS_BEYOND,
    )


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
