"""BrowserOS over MCP: no package has it, so a server with its tools and its words stands in."""

from __future__ import annotations

import base64
import io
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.config import load_config
from pytest_browsereval.door import builtin_registry
from tests.support import Run

NUMBER = {"type": "integer"}
TEXT = {"type": "string"}
FLAG = {"type": "boolean"}
PAGE = {"page": NUMBER}
POINTS = {key: {"type": "number"} for key in ("x", "y", "startX", "startY", "endX", "endY")}
ACTS = "click click_at type type_at fill press hover hover_at focus check uncheck select scroll drag drag_at"
TOOLS: dict[str, dict[str, Any]] = {
    "tabs": {
        "action": {"enum": ["list", "active", "new", "close"]},
        "url": TEXT,
        "background": {**FLAG, "default": True},
        "hidden": {**FLAG, "default": False},
        **PAGE,
    },
    "tab_groups": {},
    "navigate": {**PAGE, "action": {"enum": ["url", "back", "forward", "reload"]}, "url": TEXT},
    "snapshot": PAGE,
    "diff": PAGE,
    "act": {
        **PAGE,
        "kind": {"enum": ACTS.split()},
        **dict.fromkeys(("ref", "text", "value", "key", "direction", "targetRef", "button"), TEXT),
        "fields": {"type": "array", "items": {"type": "object", "properties": {"ref": TEXT, "value": TEXT}}},
        "amount": {**NUMBER, "default": 3},
        **POINTS,
        "clickCount": NUMBER,
        "clear": FLAG,
    },
    "download": {},
    "upload": {},
    "read": {
        **PAGE,
        "format": {"enum": ["markdown", "text", "links"]},
        "selector": TEXT,
        **dict.fromkeys(("viewportOnly", "includeLinks", "includeImages"), FLAG),
    },
    "grep": {
        **PAGE,
        "pattern": TEXT,
        "over": {"enum": ["ax", "content"]},
        "limit": {**NUMBER, "default": 50},
    },
    "screenshot": {
        **PAGE,
        "format": {"enum": ["jpeg", "png", "webp"], "default": "jpeg"},
        "quality": NUMBER,
        "size": {**TEXT, "default": "1024x768"},
        "fullPage": FLAG,
        "annotate": FLAG,
    },
    "pdf": {},
    "windows": {},
    "wait": {
        **PAGE,
        "for": {"enum": ["text", "selector", "time"]},
        "value": TEXT,
        "timeout": {"type": "number", "default": 2, "maximum": 30},
    },
    "evaluate": {**PAGE, "code": TEXT, "timeout": {"type": "number", "maximum": 30}},
    "run": {"code": TEXT, "timeout": {"type": "number", "default": 30}},
}
"""The 16 tools of the newer version, with the arguments that are published of them; of five none are."""


class BrowserOS:
    """Answers as BrowserOS does, to the header that its harness sends."""

    def __init__(self) -> None:
        self.pages: dict[int, str] = {1: "chrome://newtab/"}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.sources: set[str | None] = set()
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                stand_in.sources.add(self.headers.get("X-BrowserOS-Source"))
                result = stand_in.answer(asked) if "id" in asked else None
                self.send_response(202 if result is None else 200)
                body = json.dumps({"jsonrpc": "2.0", "id": asked.get("id"), **result}) if result else ""
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body.encode())

            def do_GET(self) -> None:
                self.send_error(405)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Stay silent."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        if asked["method"] == "initialize":
            info = {"name": "browseros_mcp", "version": "0.1"}
            return {
                "result": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": info,
                }
            }
        if asked["method"] == "tools/list":
            told = [
                {"name": name, "inputSchema": {"type": "object", "properties": own}}
                for name, own in TOOLS.items()
            ]
            return {"result": {"tools": told}}
        if asked["method"] != "tools/call":
            return {"error": {"code": -32601, "message": "Method not found"}}
        name, arguments = asked["params"]["name"], asked["params"].get("arguments") or {}
        self.calls.append((name, arguments))
        return {"result": {"content": self.content(name, arguments)}}

    def content(self, name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
        page = arguments.get("page")
        if name == "screenshot":
            assert page in self.pages
            drawn = io.BytesIO()
            Image.new("RGB", (10, 10)).save(drawn, arguments["format"])
            data = base64.b64encode(drawn.getvalue()).decode()
            return [{"type": "image", "data": data, "mimeType": f"image/{arguments['format']}"}]
        text = f"button on {self.pages.get(page or 0)}"
        if name == "tabs" and arguments["action"] == "new":
            page = max(self.pages) + 1
            self.pages[page] = arguments["url"]
            text = f"opened page {page}"
        elif name == "tabs" and arguments["action"] == "close":
            del self.pages[arguments["page"]]
            text = f"closed page {page}"
        elif name == "tabs":
            text = "\n".join(f"[{number}] {url} (Title {number})" for number, url in self.pages.items())
        elif name == "navigate":
            self.pages[arguments["page"]] = arguments["url"]
        return [{"type": "text", "text": text}]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(5)


@pytest.fixture
def browseros() -> Iterator[BrowserOS]:
    server = BrowserOS()
    yield server
    server.close()


HEADER = {"the newer version's": ("sdk-internal", []), "the older one's": ("eval", ["eval"])}


@pytest.mark.parametrize("case", HEADER)
def test_an_attempt_has_pages_of_its_own(run: Run, browseros: BrowserOS, tmp_path: Path, case: str) -> None:
    """It opens one, is located in it, may open more, and closes what it has opened, nothing else.

    Calls say where they come from, as the newer version's harness does; another value can be written.
    """
    url = f"http://127.0.0.1:{browseros.server.server_port}"
    source, given = HEADER[case]
    file = tmp_path / "run.json"
    block = {"agent": "noop", "dataset": "rows.jsonl", "browseros": {"server_url": url}}
    file.write_text(json.dumps(block))
    written = [
        f"browser={{type: mcp, url: '{url}', headers: {{X-BrowserOS-Source: {one}}}}}" for one in given
    ]
    config = load_config(file, registry=builtin_registry(), overrides=written).browser

    async def work() -> None:
        browser = config.prepare(Path.cwd()).build()
        await browser.start()
        assert [tool.name for tool in browser.survey.tools or ()] == list(TOOLS)
        window = await browser.open_window(WindowRequest("row", "http://shop.test/"))
        assert (window.url, [tab.title for tab in await window.tabs()]) == ("http://shop.test/", ["Title 2"])
        assert window.snapshot_call == ("snapshot", {"page": 2})
        await window.call_tool("navigate", {"page": 2, "url": "http://shop.test/cart"})
        assert window.url == "http://shop.test/cart"
        assert (await window.screenshot("webp"))[8:12] == b"WEBP"
        await window.call_tool("tabs", {"action": "new", "url": "http://other.test/"})
        assert (window.url, window.snapshot_call[1]) == ("http://other.test/", {"page": 3})
        await window.close()
        assert browseros.pages == {1: "chrome://newtab/"}
        empty = await browser.open_window(WindowRequest("row", None))
        assert (empty.url, empty.warnings) == ("about:blank", ())
        await empty.close()
        await browser.close()

    run(work())
    assert browseros.pages == {1: "chrome://newtab/"}
    assert browseros.sources == {source}
