"""A real MCP server over HTTP or standard input. Its browser fetches pages and draws pictures; it has no DOM.

It misbehaves when it is asked to, with the tool ``misbehave``. Started as a program: ``python odd_server.py
stdio`` speaks the protocol by itself, at once, as servers without the Python SDK do; ``http FILE PORT``,
which makes the file once it listens, is the SDK's, which takes a second to import. ``dotted`` is as
``stdio``, with dots in the names of its tools and pages that break.
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server

HUGE = 50_000_000

MORE_TOOLS = "ODD_MORE_TOOLS"
"""The variable that names a file; the tools in it, one a line, are listed beside the others."""

TEXT = {"type": "string"}

Json = dict[str, Any]


class Refused(Exception):
    """Answered with an error of the protocol."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error: Json = {"code": code, "message": message}


def tool(name: str, description: str, required: tuple[str, ...] = (), **arguments: Any) -> Json:
    schema = {
        "type": "object",
        "properties": arguments,
        "required": list(required),
        "additionalProperties": False,
    }
    return {"name": name, "description": description, "inputSchema": schema}


TOOLS = [
    tool("go", "Open a page.", ("address",), address={"type": "string", "format": "uri"}),
    tool("look", "Return the page as text."),
    tool("draw", "Draw the page.", ("kind",), kind={"enum": ["png", "gif"], "default": "png"}),
    tool("leave", "Close the page."),
    tool("send", "Post something to the site of the page.", ("path",), path=TEXT, body=TEXT),
    tool("misbehave", "Misbehave.", ("how",), how=TEXT),
]


class Page:
    """The one page that there is."""

    url = "about:blank"
    text = ""


PAGE = Page()


def fetched(url: str, body: str | None = None) -> str:
    data = None if body is None else body.encode()
    with urllib.request.urlopen(url, data, timeout=30) as response:  # noqa: S310 a page of the test's own
        return str(response.read().decode())


async def go(address: str) -> Json:
    try:
        text = await asyncio.to_thread(fetched, address)
    except (urllib.error.URLError, ValueError) as error:
        return said(f"cannot open {address}: {error}", is_error=True)
    PAGE.url, PAGE.text = address, re.sub(r"<[^>]*>", " ", text)
    return said(f"At {PAGE.url}")


async def look() -> Json:
    return said(f"At {PAGE.url}\n{PAGE.text}")


async def draw(kind: str) -> Json:
    written = io.BytesIO()
    Image.new("RGBA", (120, 80), "teal").save(written, kind.upper())
    data = base64.b64encode(written.getvalue()).decode()
    # The media type is a lie: the bytes decide.
    picture = {"type": "image", "data": data, "mimeType": "image/jpeg"}
    return {"content": [{"type": "text", "text": "drawn"}, picture]}


async def leave() -> Json:
    was, PAGE.url, PAGE.text = PAGE.url, "about:blank", ""
    if was.endswith("/sticky"):
        return said("the page asks whether it may be left", is_error=True)
    return said("left")


async def send(path: str, body: str = "") -> Json:
    answer = await asyncio.to_thread(fetched, PAGE.url.rstrip("/") + path, body)
    return said(f"At {PAGE.url}\n{answer}")


async def misbehave(how: str) -> Json:
    if how == "die":
        os.write(2, b"\x1b[31mthe browser exploded\x1b[0m\n")
        os._exit(3)
    if how == "hang":
        await asyncio.sleep(3600)
    if how == "freeze":
        time.sleep(3600)  # noqa: ASYNC251 that is the point
    if how == "refuse":
        raise Refused(-32603, "no more pages today")
    if how == "fork":
        return said(json.dumps({"child": forked()}))
    return said("x" * {"huge": HUGE, "long": 100_000}.get(how, 1), is_error=how == "fail")


def forked() -> int:
    return subprocess.Popen(["sleep", "3600"], start_new_session=True, stdout=subprocess.DEVNULL).pid


def more_tools() -> list[str]:
    file = Path(os.environ.get(MORE_TOOLS, "nothing"))
    return file.read_text().split() if file.is_file() else []


def said(text: str, *, is_error: bool = False) -> Json:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


DOES = {each.__name__: each for each in (go, look, draw, leave, send, misbehave)}


def listed(cursor: str | None) -> Json:
    """List the tools on two pages."""
    if cursor:
        return {"tools": [*TOOLS[4:], *(tool(name, "Another one.") for name in more_tools())]}
    return {"tools": TOOLS[:4], "nextCursor": "2"}


async def called(name: str, arguments: Json) -> Json:
    if name not in DOES:
        raise Refused(-32602, f"there is no tool {name}")
    return await DOES[name](**arguments)


# -- with dots in names: it shows the address that was asked for, not the one that the page has


async def web_go(url: str) -> Json:
    PAGE.url = url
    return said(f"At {url}")


async def web_look() -> Json:
    return said(f"At {PAGE.url}")


async def web_click() -> Json:
    PAGE.url = PAGE.url.partition("/start")[0] + "/boom"
    return said("clicked")


async def web_run(code: str) -> Json:
    if not code.startswith("return "):
        return said("undefined")
    if "gone" in PAGE.url:
        return said("chrome-error://chromewebdata/ HTTP 0")
    return said(f"{PAGE.url} HTTP {500 if 'boom' in PAGE.url else 200}")


async def web_half() -> Json:
    return said("7.25 \ud83d")


def take_dotted_names() -> None:
    bare: Json = {"web.look": web_look, "web_look": web_click, "web.half": web_half}
    bare["web.draw"] = lambda: draw("png")
    DOES.update(bare | {"web.go": web_go, "web.run": web_run})
    with_text = tool("web.go", "", ("url",), url=TEXT), tool("web.run", "", ("code",), code=TEXT)
    TOOLS[:] = [*with_text, *(tool(name, "") for name in bare)]


# -- by itself


async def answered(method: str, params: Json) -> Json:
    if method == "initialize":
        told = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
        return {**told, "serverInfo": {"name": "odd", "version": "1.2"}}
    if method == "tools/list":
        return listed(params.get("cursor"))
    if method == "tools/call":
        return await called(params["name"], params.get("arguments") or {})
    raise Refused(-32601, f"there is no method {method}")


async def answer(asked: Json) -> None:
    said: Json = {"jsonrpc": "2.0", "id": asked["id"]}
    try:
        said["result"] = await answered(asked["method"], asked.get("params") or {})
    except Refused as refused:
        said["error"] = refused.error
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


async def over_stdio() -> None:
    async with asyncio.TaskGroup() as tasks:
        while line := await asyncio.to_thread(sys.stdin.readline):
            asked = json.loads(line)
            if "id" in asked:
                tasks.create_task(answer(asked))
        os._exit(0)  # whatever hangs


# -- by the SDK


def sdk_server() -> Server[Any]:
    import mcp_types as types
    from mcp import MCPError
    from mcp.server.lowlevel import Server

    async def on_list_tools(_: Any, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult.model_validate(listed(params.cursor if params else None))

    async def on_call_tool(_: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            return types.CallToolResult.model_validate(await called(params.name, params.arguments or {}))
        except Refused as refused:
            raise MCPError(**refused.error) from None

    return Server("odd", version="1.2", on_list_tools=on_list_tools, on_call_tool=on_call_tool)


def over_http(port_file: str, port: int) -> None:
    import uvicorn

    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen()
    Path(port_file).touch()
    config = uvicorn.Config(sdk_server().streamable_http_app(), log_level="error")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    if sys.argv[1] == "http":
        over_http(sys.argv[2], int(sys.argv[3]))
    else:
        if sys.argv[1] == "dotted":
            take_dotted_names()
        asyncio.run(over_stdio())
