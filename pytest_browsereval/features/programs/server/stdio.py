"""The tools of an attempt for MCP clients that know only stdio: speaks it, and passes all on over HTTP.

``python -m pytest_browsereval.features.programs.server.stdio`` takes the address from the variable
``BROWSEREVAL_MCP_URL`` and the token from ``BROWSEREVAL_MCP_TOKEN``. It ends when its client closes
standard input.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from pytest_browsereval.addresses import find_certificates

URL, TOKEN = "BROWSEREVAL_MCP_URL", "BROWSEREVAL_MCP_TOKEN"
_CONNECT_S = 30.0
_CALL_S = 3_600.0


async def pass_on(url: str, token: str) -> None:
    """Serve on standard input and output what the server at the address serves, until the input ends."""
    import httpx2
    from mcp import Client, types
    from mcp.client.streamable_http import streamable_http_client
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    # Loopback: no proxy of the environment; calls may wait as long as their tools do.
    http = httpx2.AsyncClient(
        verify=find_certificates(url),
        headers={"Authorization": f"Bearer {token}"},
        timeout=httpx2.Timeout(_CONNECT_S, read=_CALL_S),
        trust_env=False,
    )
    async with http, Client(streamable_http_client(url, http_client=http)) as client:

        async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
            del context, params
            return await client.list_tools()

        async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
            del context
            return await client.call_tool(
                params.name, dict(params.arguments or {}), read_timeout_seconds=_CALL_S
            )

        server = Server(
            "browser", instructions=client.instructions, on_list_tools=list_tools, on_call_tool=call_tool
        )
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())


def main() -> int:
    """Run until standard input ends; returns the exit code."""
    url, token = os.environ.get(URL), os.environ.get(TOKEN)
    if not url or not token:
        sys.stderr.write(f"{URL} and {TOKEN} must be set; a running attempt sets them for its program.\n")
        return 2
    asyncio.run(pass_on(url, token))
    return 0


if __name__ == "__main__":
    sys.exit(main())
