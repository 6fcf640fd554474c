from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import psutil
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, ImageContent, TextContent

from pytest_browsereval.agents.noop import NoopConfig
from pytest_browsereval.errors import LimitReached, TerminationReason
from pytest_browsereval.features.programs.server import TOKEN_PREFIX, ToolServer, serving
from pytest_browsereval.model.messages import ToolResultMessage
from pytest_browsereval.tools.base import tool
from pytest_browsereval.tools.toolkit import Policy, Toolkit
from tests.agents.desk import PAPER_TOOLS, Desk, MakeDesk, PaperWindow
from tests.support import until


@tool
async def screenshot(window: PaperWindow) -> str:
    """Take a picture."""
    del window
    return "A picture."


TOOLS = (*PAPER_TOOLS, screenshot)


@asynccontextmanager
async def connected(server: ToolServer, token: str | None = None) -> AsyncIterator[Client]:
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token or server.token}"}, timeout=120)
    async with http, Client(streamable_http_client(server.url, http_client=http)) as client:
        yield client


def listens_here(server: ToolServer) -> bool:
    """Whether this process serves it; another one may have been given the port since."""
    port = int(server.url.split(":")[2].split("/")[0])
    ends = psutil.Process().net_connections()
    return port in {end.laddr.port for end in ends if end.status == psutil.CONN_LISTEN}


def text(result: CallToolResult) -> str:
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


def serve(desk: Desk, work: Callable[[ToolServer], Coroutine[Any, Any, None]]) -> None:
    """Serve a desk's tools while a client works."""

    async def course() -> None:
        context = desk.context(NoopConfig())
        async with serving(context.tools, context.capture, context.kits) as server:
            await work(server)

    asyncio.run(course())


def test_a_client_lists_and_calls_the_attempt_s_tools(make_desk: MakeDesk) -> None:
    """Names, schemas, results and refusals are the toolbox's own, and each call is recorded and pictured."""
    desk = make_desk(tools=TOOLS, screenshots="after")

    async def work(server: ToolServer) -> None:
        async with connected(server) as client:
            assert str(client.instructions).endswith("Call done with the answer when the task is done.")
            listed = {each.name: each for each in (await client.list_tools()).tools}
            assert list(listed) == ["snapshot", "click", "wait", "done", "screenshot"]
            assert listed["click"].input_schema["required"] == ["target"]
            assert listed["click"].description == "Click something."
            clicked = await client.call_tool("click", {"target": "button Buy"})
            assert (text(clicked), clicked.is_error) == ("Clicked button Buy.", False)
            unknown = await client.call_tool("clik", {})
            assert unknown.is_error
            assert "unknown tool 'clik'. Did you mean 'click'?" in text(unknown)
            wrong = await client.call_tool("click", {"goal": 1})
            assert wrong.is_error
            assert text(wrong).startswith("wrong arguments for click: target: Field required")
            said, shown = (await client.call_tool("screenshot", {})).content
            assert isinstance(said, TextContent)
            assert isinstance(shown, ImageContent)
            assert shown.mime_type == "image/jpeg"
            data = base64.b64decode(shown.data)
            assert data[:2] == b"\xff\xd8"
            assert data == desk.capture.screenshot.path(4).read_bytes()
            await client.call_tool("done", {"answer": "bought"})
            assert server.is_over.is_set()

    serve(desk, work)
    assert desk.called == ["click", "clik", "click", "screenshot", "done"]
    results = [m for m in desk.capture.messages.messages if isinstance(m, ToolResultMessage)]
    assert [m.screenshot for m in results] == [1, 2, 3, 4, None]
    assert (desk.capture.steps, desk.window.pictures) == (4, 4)


def test_only_the_token_of_a_running_attempt_opens_it(make_desk: MakeDesk) -> None:
    """Other tokens, other paths, foreign hosts and web pages are refused, and told in the record."""
    first, second = make_desk(), make_desk()

    async def course() -> None:
        one, other = first.context(NoopConfig()), second.context(NoopConfig())
        async with httpx2.AsyncClient(timeout=120) as http:

            async def ask(url: str, token: str, **headers: str) -> int:
                given = {"Authorization": f"Bearer {token}", "Accept": "application/json", **headers}
                return (await http.post(url, headers=given, json={})).status_code

            async with serving(one.tools, one.capture) as mine:
                async with serving(other.tools, other.capture) as theirs:
                    assert mine.url != theirs.url  # each has a port of its own
                    assert mine.token.startswith(TOKEN_PREFIX)
                    assert mine.token != theirs.token
                    assert await ask(mine.url, theirs.token) == 401
                    assert await ask(mine.url, TOKEN_PREFIX) == 401
                    assert (await http.post(mine.url)).status_code == 401
                    base = mine.url.removesuffix("/mcp")
                    assert await ask(f"{base}/.well-known/oauth-protected-resource", mine.token) == 404
                    assert await ask(mine.url, mine.token, Host="evil.test") == 421
                    assert await ask(mine.url, mine.token, Origin="http://evil.test") == 403
                assert not listens_here(theirs)  # its attempt is over, mine is not
                assert await ask(mine.url, mine.token) not in (401, 404)
            assert not listens_here(mine)

    asyncio.run(course())
    assert first.warned == "3 requests for its tools had no token or a wrong one"


def test_parallel_calls_take_turns(make_desk: MakeDesk) -> None:
    """Forty calls at once are made one by one; the limit of steps ends the attempt, not the connection."""
    desk = make_desk(max_steps=30)

    async def work(server: ToolServer) -> None:
        async with connected(server) as client:
            calls = [client.call_tool("click", {"target": "button Buy"}) for _ in range(40)]
            results = await asyncio.gather(*calls)
        assert sum(result.is_error or False for result in results) == 10
        told = {text(result) for result in results if result.is_error}
        assert told == {"The attempt is over: limits.max_steps is 30; all were used."}
        ending = server.ending
        assert isinstance(ending, LimitReached)
        assert ending.reason is TerminationReason.MAX_STEPS

    serve(desk, work)
    assert desk.window.text.count("clicked") == 30
    assert desk.called == ["click"] * 30


def test_a_call_goes_on_without_its_caller(make_desk: MakeDesk) -> None:
    """A client that goes away in the middle of a call leaves a whole record; the end cuts calls off."""
    desk = make_desk()

    async def leave(client: Client, seconds: float) -> None:
        before = desk.called.count("wait")
        calling = asyncio.ensure_future(client.call_tool("wait", {"seconds": seconds}))
        await until(lambda: desk.called.count("wait") > before)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling

    async def work(server: ToolServer) -> None:
        async with connected(server) as client:
            await leave(client, 0.3)
        async with connected(server) as client:
            assert not (await client.call_tool("click", {"target": "button Buy"})).is_error
            await leave(client, 600)

    serve(desk, work)
    results = [m for m in desk.capture.messages.messages if isinstance(m, ToolResultMessage)]
    assert [m.result["output"] for m in results] == [
        "Waited.",
        "Clicked button Buy.",
        "wait was cut off: it was cancelled.",
    ]


def test_what_a_toolkit_vetoes_is_not_offered(make_desk: MakeDesk) -> None:
    """It is not listed, no policy speaks of it, and a call of it is refused with the reason and recorded."""
    desk = make_desk()
    policy = (Policy("Wait for pages.", needs=("wait",)), Policy("Note what you see."))
    desk.kits = (Toolkit("notes", "Notes", PAPER_TOOLS, policy=policy, vetoes={"wait": "there is no clock"}),)

    async def work(server: ToolServer) -> None:
        async with connected(server) as client:
            assert [each.name for each in (await client.list_tools()).tools] == ["snapshot", "click", "done"]
            assert "Wait for pages." not in str(client.instructions)
            refused = await client.call_tool("wait", {"seconds": 1})
            assert (text(refused), refused.is_error) == ("wait is not offered: there is no clock", True)

    serve(desk, work)
    assert desk.called == ["wait"]
