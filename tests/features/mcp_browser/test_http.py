"""What goes over HTTP to an MCP server: where keys are written, and which refusals end a session."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.features.mcp_browser.config import McpBrowserConfig
from pytest_browsereval.local_server import LocalHandler
from tests.features.mcp_browser import odd
from tests.support import Run, serving

SCHEMA = {"type": "object", "properties": {"address": {"type": "string"}}, "required": ["address"]}
NAMES = {"go": SCHEMA, "look": {"type": "object"}, "draw": {"type": "object"}, "leave": {"type": "object"}}
LOST = {"code": -32600, "message": "Session not found"}
LARGE = 17 * 2**20


class OldServer(LocalHandler):
    """One that keeps sessions: none is known any more once ``look`` was called; ``draw`` says too much."""

    paths: set[str]

    def do_POST(self) -> None:
        self.paths.add(self.path)
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status, answer = self.answer(asked["method"], (asked.get("params") or {}).get("name"))
        body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), **answer}).encode()
        status = status if "id" in asked else 202
        self.send(status, "application/json", body, {"Mcp-Session-Id": "one"})

    def answer(self, method: str, name: str | None) -> tuple[int, dict[str, Any]]:
        if method == "initialize":
            told = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            return 200, {"result": {**told, "serverInfo": {"name": "old", "version": "1"}}}
        if method == "tools/list":
            return 200, {"result": {"tools": [{"name": n, "inputSchema": s} for n, s in NAMES.items()]}}
        if method == "tools/call" and name == "look":
            return 404, {"error": LOST}
        if method == "tools/call":
            text = "x" * LARGE if name == "draw" else "done"
            return 200, {"result": {"content": [{"type": "text", "text": text}]}}
        return 200, {"error": {"code": -32601, "message": "no such method"}}


def test_a_lost_session_is_a_fault_and_keys_are_in_no_log(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    """A key in the URL reaches the server and nobody else; a session that it lost is the browser's fault."""
    caplog.set_level(logging.DEBUG)
    OldServer.paths = set()

    async def work(url: str) -> None:
        block = {"url": f"{url}/mcp?key=sesame-opens&x=1", "tools": odd.USES, "call_timeout_s": 60}
        config = McpBrowserConfig.model_validate(block).prepare(Path.cwd())
        assert {"key=sesame-opens&x=1", "sesame-opens"} == set(config.secrets())
        browser = config.build()
        await browser.start()
        window = await browser.open_window(WindowRequest("row", "http://shop.test/"))
        assert "larger than 16 MB" in (await window.call_tool("draw", {})).output
        with pytest.raises(Fault, match=r"HTTP status 404 Not Found: .*Session not found") as caught:
            await window.call_tool("look", {})
        assert caught.value.source == ErrorSource.BROWSER
        assert window.dead
        await window.close()
        await browser.close()

    with serving(OldServer) as url:
        run(work(url))
    assert OldServer.paths == {"/mcp?key=sesame-opens&x=1"}
    assert "HTTP Request: POST" in caplog.text
    assert "sesame" not in caplog.text
