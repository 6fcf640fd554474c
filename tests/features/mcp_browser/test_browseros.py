"""BrowserOS over MCP: no package has it, so a server with its tools and its words stands in."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from pytest_browsereval.browsers.base import WindowRequest
from pytest_browsereval.config import load_config
from pytest_browsereval.door import builtin_registry
from pytest_browsereval.local_server import LocalHandler
from tests.support import Run, serving

TOOLS = {
    "tabs": ("action", "url", "page"),
    "navigate": ("page", "action", "url"),
    "snapshot": ("page",),
    "act": ("page", "kind", "ref"),
    "screenshot": ("page", "format", "quality"),
    "evaluate": ("page", "code"),
}
"""Those of the newer version that matter here, with their arguments."""


class BrowserOS(LocalHandler):
    """Answers as BrowserOS does, to the header that its harness sends."""

    pages: dict[int, str]
    sources: set[str | None]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.sources.add(self.headers.get("X-BrowserOS-Source"))
        if "id" not in asked:
            self.send(202, "application/json", b"")
            return
        said = self.answer(asked["method"], asked.get("params") or {})
        answer = {"jsonrpc": "2.0", "id": asked["id"], **said}
        self.send(200, "application/json", json.dumps(answer).encode())

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            told = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
            return {"result": {**told, "serverInfo": {"name": "browseros_mcp", "version": "0.1"}}}
        if method == "tools/list":
            schemas = {
                name: {key: {"type": "integer" if key in ("page", "quality") else "string"} for key in keys}
                for name, keys in TOOLS.items()
            }
            tools = [
                {"name": name, "inputSchema": {"type": "object", "properties": schema}}
                for name, schema in schemas.items()
            ]
            return {"result": {"tools": tools}}
        if method != "tools/call":
            return {"error": {"code": -32601, "message": "Method not found"}}
        return {"result": {"content": self.content(params["name"], params.get("arguments") or {})}}

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


HEADER = {"the newer version's": ("sdk-internal", []), "the older one's": ("eval", ["eval"])}


@pytest.mark.parametrize("case", HEADER)
def test_an_attempt_has_pages_of_its_own(run: Run, tmp_path: Path, case: str) -> None:
    """It opens one, is located in it, may open more, and closes what it has opened, nothing else.

    Calls say where they come from, as the newer version's harness does; another value can be written.
    """
    source, given = HEADER[case]
    BrowserOS.pages, BrowserOS.sources = {1: "chrome://newtab/"}, set()

    async def work(url: str) -> None:
        file = tmp_path / "run.json"
        block = {"agent": "noop", "dataset": "rows.jsonl", "browseros": {"server_url": url}}
        file.write_text(json.dumps(block))
        written = [
            f"browser={{type: mcp, url: '{url}', headers: {{X-BrowserOS-Source: {one}}}}}" for one in given
        ]
        config = load_config(file, registry=builtin_registry(), overrides=written).browser
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
        empty = await browser.open_window(WindowRequest("row", None))
        assert (empty.url, empty.warnings) == ("about:blank", ())
        await empty.close()
        await browser.close()

    with serving(BrowserOS) as url:
        run(work(url))
    assert (BrowserOS.pages, BrowserOS.sources) == ({1: "chrome://newtab/"}, {source})
