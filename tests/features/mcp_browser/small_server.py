"""A small MCP server on standard input: its tools have dots in their names, and its pages break."""

from __future__ import annotations

import json
import sys
from typing import Any

PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TOOLS = {
    "web.go": ["url"],
    "web.look": [],
    "web_look": [],
    "web.draw": [],
    "web.run": ["code"],
    "web.half": [],
}
PAGE = {"url": "about:blank"}


def call(name: str, given: dict[str, Any]) -> str:
    """Answer as servers do: the address that was asked for, whatever has become of it."""
    url = PAGE["url"]
    if name == "web.go":
        PAGE["url"] = given["url"]
        return f"At {given['url']}"
    if name == "web_look":
        PAGE["url"] = url.partition("/start")[0] + "/boom"  # as a click does
        return "clicked"
    if name == "web.run":
        if not given["code"].startswith("return "):
            return "undefined"
        status = 500 if "boom" in url else 200
        return "chrome-error://chromewebdata/ HTTP 0" if "gone" in url else f"{url} HTTP {status}"
    return "7.25 \\ud83d" if name == "web.half" else f"At {url}"


def answer(message: dict[str, Any]) -> str:
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        version = params["protocolVersion"]
        info = {"name": "small", "version": "1"}
        return json.dumps({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
    if method == "tools/list":
        texts = {name: {key: {"type": "string"} for key in names} for name, names in TOOLS.items()}
        tools = [
            {"name": name, "inputSchema": {"type": "object", "properties": own}}
            for name, own in texts.items()
        ]
        return json.dumps({"tools": tools})
    if method == "tools/call" and params["name"] == "web.draw":
        return json.dumps({"content": [{"type": "image", "data": PICTURE, "mimeType": "image/png"}]})
    if method == "tools/call":
        text = call(params["name"], params.get("arguments") or {})  # it escapes by itself
        return f'{{"content": [{{"type": "text", "text": "{text}"}}]}}'
    return ""


def reply(message: dict[str, Any]) -> str:
    """Return the line that answers a request."""
    said = answer(message)
    body = f'"result": {said}' if said else '"error": {"code": -32601, "message": "unknown"}'
    return f'{{"jsonrpc": "2.0", "id": {json.dumps(message["id"])}, {body}}}\n'


if __name__ == "__main__":
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            sys.stdout.write(reply(request))
            sys.stdout.flush()
