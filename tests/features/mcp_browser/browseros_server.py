"""An MCP server that answers as BrowserOS's does, over HTTP, with a real Chromium behind it.

Started as a program: ``python browseros_server.py FILE`` writes its address into the file once it listens.
BrowserOS lists two tools more some seconds after its start; here all requests but the first get them.
"""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
import socket
import sys
from pathlib import Path
from typing import Any

import uvicorn
from playwright.async_api import Dialog, Error, Page, async_playwright

from pytest_browsereval.browsers.binary import candidates, launch_first

Json = dict[str, Any]

LISTED: Json = json.loads(Path(__file__).with_name("browseros_tools.json").read_text())
SCHEMAS: dict[str, Json] = {tool["name"]: tool["inputSchema"] for tool in LISTED["tools"]}
SNAPSHOT = """() => {
  const parts = [...document.querySelectorAll('a,button,input,p,h1')];
  return parts.map((part, n) => {
    part.dataset.ref = 'e' + (n + 1);
    return `- ${part.tagName.toLowerCase()} "${part.innerText || part.value || ''}" [ref=e${n + 1}]`;
  }).join('\\n');
}"""


class Wrong(Exception):
    """Answered as an error of the tool."""


class BrowserOS:
    """The tools, on the pages of one context."""

    def __init__(self, context: Any) -> None:
        self._context, self._is_late = context, False
        self._blocked: set[int] = set()
        self._pages: dict[int, Page] = {}
        self._asked: dict[int, str] = {}
        self._failed: dict[int, str] = {}
        context.on("page", self._add)

    def _add(self, page: Page) -> None:
        number = len(self._asked) + 1
        self._pages[number], self._asked[number] = page, page.url

        def close(_: Page) -> None:
            self._pages.pop(number, None)

        def block(_: Dialog) -> None:
            """Leave a dialog open: no tool answers it, and what waits for the page hangs."""
            self._blocked.add(number)

        page.on("close", close)
        page.on("dialog", block)

    def _page(self, number: int) -> Page:
        if number not in self._pages:
            raise Wrong(f"Unknown page {number}. List pages with tabs.")
        return self._pages[number]

    def _number(self, page: Page) -> int:
        return next(number for number, each in self._pages.items() if each is page)

    def _url(self, number: int) -> str:
        """Return the visible address: of an error page the one that was asked for."""
        url = self._pages[number].url
        return self._failed.get(number, url) if url.startswith("chrome-error:") else url

    async def _go(self, number: int, url: str) -> None:
        try:
            await self._pages[number].goto(url)
        except Error:
            self._failed[number] = url
            await self._pages[number].wait_for_url("chrome-error:**")

    async def _snapshot(self, number: int) -> str:
        text = await self._pages[number].evaluate(SNAPSHOT)
        return self._mark(number, text or "(The page is empty.)")

    def _mark(self, number: int, text: str) -> str:
        nonce, origin = secrets.token_hex(8), self._url(number)
        return (
            f"[UNTRUSTED_PAGE_CONTENT nonce={nonce} origin={origin}]\n{text}\n"
            f"[END_UNTRUSTED_PAGE_CONTENT nonce={nonce}]"
        )

    def tools(self) -> list[Json]:
        late, self._is_late = LISTED["late"] if self._is_late else [], True
        return [*LISTED["tools"], *late]

    async def call(self, name: str, given: Json) -> Json:
        try:
            check(SCHEMAS[name], given)
            content = await getattr(self, f"on_{name}")(**given)
        except (Wrong, Error) as error:
            return {"content": [text(f"{name} failed: {error}")], "isError": True}
        return {"content": content, "isError": False}

    async def on_tabs(self, action: str = "list", url: str = "about:blank", page: int = 0, **_: Any) -> Any:
        if action == "new":
            opened = self._number(await self._context.new_page())
            await self._go(opened, url)
            return [text(f"opened page {opened}")]
        if action == "close":
            await self._page(page).close()
            return [text(f"closed page {page}")]
        pages = [*self._pages.items()]
        titles = {number: "" if number in self._blocked else await each.title() for number, each in pages}
        return [text("\n".join(f"[{number}] {self._url(number)} ({titles[number]})" for number in titles))]

    async def on_navigate(self, page: int, url: str = "", action: str = "url") -> Any:
        one = self._page(page)
        await (self._go(page, url) if action == "url" else one.go_back())
        return [text(await self._snapshot(page))]

    async def on_snapshot(self, page: int) -> Any:
        self._page(page)
        return [text(await self._snapshot(page))]

    on_read = on_snapshot

    async def on_act(self, page: int, kind: str, ref: str = "", **_: Any) -> Any:
        one, before = self._page(page), self._page(page).url
        assert kind == "click"
        await one.locator(f"[data-ref={ref}]").click(timeout=5000)
        await one.wait_for_load_state()
        if one.url == before:
            return [text(f"clicked {ref}"), text(self._mark(page, "(no changes)"))]
        return [text(f"clicked {ref}"), text("The address changed:"), text(await self._snapshot(page))]

    async def on_screenshot(self, page: int, format: str = "jpeg", **_: Any) -> Any:  # noqa: A002 its name
        kind = "jpeg" if format == "jpeg" else "png"
        data = base64.b64encode(await self._page(page).screenshot(type=kind)).decode()  # type: ignore[arg-type]
        return [{"type": "image", "data": data, "mimeType": f"image/{kind}"}]

    async def on_evaluate(self, page: int, code: str, timeout: float = 30_000) -> Any:  # noqa: ASYNC109 its name
        async with asyncio.timeout(timeout / 1000):
            value = await self._page(page).evaluate(code)
        return [text(self._mark(page, value if isinstance(value, str) else json.dumps(value)))]

    # -- the protocol

    async def answer(self, method: str, params: Json) -> Json:
        if method == "initialize":
            told = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            return {"result": {**told, "serverInfo": {"name": "browseros_mcp", "version": "0.0.0-dev"}}}
        if method == "tools/list":
            return {"result": {"tools": self.tools()}}
        if method == "tools/call":
            return {"result": await self.call(params["name"], params.get("arguments") or {})}
        return {"error": {"code": -32601, "message": "Method not found"}}

    async def __call__(self, scope: Json, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            part = await receive()
            body, more = body + part.get("body", b""), part.get("more_body", False)
        asked: Json = json.loads(body) if scope["method"] == "POST" else {}
        status, reply = 202, b""
        if scope["method"] != "POST":
            status = 405
        elif asked["method"] == "server/discover":
            status, reply = 500, b'{"error": "Internal server error"}'
        elif "id" in asked:
            said = await self.answer(asked["method"], asked.get("params") or {})
            status, reply = 200, json.dumps({"jsonrpc": "2.0", "id": asked["id"], **said}).encode()
        head = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": status, "headers": head})
        await send({"type": "http.response.body", "body": reply})


def check(schema: Json, given: Json) -> None:
    if lacking := set(schema.get("required", ())) - given.keys():
        raise Wrong(f"Invalid arguments: {sorted(lacking)} required")
    if unknown := given.keys() - schema["properties"].keys():
        raise Wrong(f"Invalid arguments: unrecognized {sorted(unknown)}")


def text(said: str) -> Json:
    return {"type": "text", "text": said}


async def serve(file: Path) -> None:
    async with async_playwright() as playwright:
        chromium, *_ = await launch_first(playwright.chromium, candidates())
        context = await chromium.new_context()
        server = BrowserOS(context)
        page = await context.new_page()
        await page.set_content("<title>The user's own page</title>")
        listener = socket.create_server(("127.0.0.1", 0))
        file.with_suffix(".part").write_text(f"http://127.0.0.1:{listener.getsockname()[1]}")
        file.with_suffix(".part").rename(file)
        config = uvicorn.Config(server, log_level="error", lifespan="off", timeout_graceful_shutdown=1)
        await uvicorn.Server(config).serve(sockets=[listener])
        await chromium.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
