"""Programs of others, as far as an attempt meets them: ``outside.py FORM ARGUMENT...``.

``codex`` stands in for the command line of this name: it reads its form of config and prints what it prints.
``cdp`` drives the browser by the DevTools protocol; ``clicks`` clicks twice by MCP, which is spoken by
hand, as a client of its own would.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import tomllib
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

Call = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
"""Calls a tool; gives the result as the protocol writes it."""


def say(**line: Any) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


class Spoken:
    """A session over HTTP."""

    def __init__(self, url: str, headers: dict[str, str]) -> None:
        self.url = url
        self.headers = {**headers, "Accept": "application/json, text/event-stream"}
        self.number = 0
        client = {"name": "outside", "version": "1"}
        told = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self.headers["MCP-Protocol-Version"] = self.ask("initialize", told)["protocolVersion"]
        self.post({"method": "notifications/initialized"})

    def post(self, message: dict[str, Any]) -> str:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        headers = {**self.headers, "Content-Type": "application/json"}
        request = urllib.request.Request(self.url, body, headers)  # noqa: S310 loopback
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 the same
            if session := answer.headers.get("Mcp-Session-Id"):
                self.headers["Mcp-Session-Id"] = session
            text: str = answer.read().decode()
            return text

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.number += 1
        text = self.post({"id": self.number, "method": method, "params": params})
        found = [line.removeprefix("data:") for line in text.splitlines() if line.startswith(("data:", "{"))]
        (answer,) = (message for message in map(json.loads, filter(str.strip, found)) if "id" in message)
        assert answer["id"] == self.number
        result: dict[str, Any] = answer["result"]
        return result

    async def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})


async def order(call_tool: Call, prompt: str) -> str:
    """Order what the task says, by what the tools show of the page."""
    name = re.findall(r"Order a mug for (\w+)\.", prompt)[-1]

    async def call(tool: str, **arguments: Any) -> str:
        result = await call_tool(tool, arguments)
        text: str = result["content"][0]["text"]
        assert not result["isError"], text
        return text

    page = await call("snapshot")
    field = re.findall(r'textbox "Name".*\[ref=(\w+)\]', page)[0]
    await call("fill", target=field, text=name)
    await call("click", target=re.findall(r'button "Order".*\[ref=(\w+)\]', page)[0])
    shown = await call_tool("screenshot", {})
    assert [block["type"] for block in shown["content"]] == ["text", "image"]
    return str(re.findall(r"Order (\S+) for", await call("read_text", target="#told"))[0])


async def leak(call_tool: Call) -> None:
    """Show its token wherever it can, and tell the test which one it was."""
    token = os.environ["BROWSEREVAL_MCP_TOKEN"]
    await call_tool(token, {"token": token})
    say(type="item.completed", item={"type": "agent_message", "text": token})
    sys.stderr.write(f"{token}\n")
    os.write(os.open(os.environ["TOKEN_FILE"], os.O_CREAT | os.O_APPEND | os.O_WRONLY), f"{token}\n".encode())


async def codex(words: list[str]) -> None:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("command", choices=["exec"])
    for flag in ("--json", "--skip-git-repo-check"):
        parser.add_argument(flag, action="store_true", required=True)
    for option in ("--sandbox", "--cd"):
        parser.add_argument(option, required=True)
    parser.add_argument("-c", action="append", required=True)
    parser.add_argument("prompt", choices=["-"])
    switched = parser.parse_args(words).c
    assert {"features.shell_tool=false", "features.unified_exec=false", 'web_search="disabled"'} < {*switched}
    config = tomllib.loads((Path(os.environ["CODEX_HOME"]) / "config.toml").read_text())
    block = config["mcp_servers"]["browser"]
    assert os.environ["CODEX_API_KEY"]
    headers = {"Authorization": f"Bearer {os.environ[block['bearer_token_env_var']]}"}
    say(type="thread.started", thread_id="t-1")
    say(type="turn.started")
    call = Spoken(block["url"], headers).call
    answer = await order(call, sys.stdin.read())
    await leak(call)
    say(type="item.completed", item={"id": "item_0", "type": "reasoning", "text": "Hm."})
    say(type="item.completed", item={"id": "item_1", "type": "agent_message", "text": answer})
    say(type="turn.completed", usage={"input_tokens": 90, "cached_input_tokens": 60, "output_tokens": 9})


async def cdp(words: list[str]) -> None:
    from playwright.async_api import async_playwright

    (url,) = words
    async with async_playwright() as playwright:
        browser = await playwright.chromium.connect_over_cdp(url)
        page = browser.contexts[0].pages[0]
        say(type="assistant", content=f"I see {await page.title()}.")
        await page.get_by_label("Name").fill("Ada")
        say(type="step", tool="fill", params={"label": "Name"}, result="filled")
        await page.get_by_role("button", name="Order").click()
        say(type="step", tool="click", params={"button": "Order"}, result="clicked")
        told = await page.locator("#told").inner_text()
    say(type="usage", input_tokens=10, output_tokens=1, cost_usd=0.5)
    say(type="answer", content=told.split()[1])


async def clicks(words: list[str]) -> None:
    url, token = os.environ["BROWSEREVAL_MCP_URL"], os.environ["BROWSEREVAL_MCP_TOKEN"]
    call = Spoken(url, {"Authorization": f"Bearer {token}"}).call
    for _ in range(2):
        await call("click", {"target": "role=button"})
    await call("done", {"answer": "clicked"})


if __name__ == "__main__":
    forms = {"codex": codex, "cdp": cdp, "clicks": clicks}
    form = forms[sys.argv[1]]
    asyncio.run(form(sys.argv[2:]))
