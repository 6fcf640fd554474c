"""Clients that send keys, cookies or pages: none of them follows a redirect to another host."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager

import pytest

from pytest_browsereval.errors import BrowserEvalError, Fault
from pytest_browsereval.features.cdp_browser.endpoint import DevToolsUrl
from pytest_browsereval.features.mcp_browser.config import McpBrowserConfig
from pytest_browsereval.features.pointing.visual_action import ActionService
from pytest_browsereval.graders.observing import fetch_json
from pytest_browsereval.llm.retries import RetryPolicy
from pytest_browsereval.local_server import LocalHandler
from tests.support import serving

KEY = "sk-of-the-user-only"
Ask = Callable[[str], Coroutine[None, None, object]]


@contextmanager
def server(status: int, location: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield the address of a server that answers so, and the lines of the requests that it gets."""
    asked: list[str] = []

    class Handler(LocalHandler):
        def do_GET(self) -> None:
            asked.append(self.requestline)
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send(status, "application/json", b"{}", {"Location": location} if location else {})

        do_POST = do_GET

    with serving(Handler) as url:
        yield url, asked


async def predict(url: str) -> None:
    service = ActionService(url, KEY, 5.0, RetryPolicy(max_tries=1))
    try:
        await service.predict("click", b"picture", [])
    finally:
        await service.close()


async def survey(url: str) -> None:
    headers = {"Authorization": f"Bearer {KEY}"}
    block = {"type": "mcp", "url": f"{url}/mcp?key={KEY}", "headers": headers, "connect_timeout_s": 10}
    await McpBrowserConfig.model_validate(block).survey()


CLIENTS: dict[str, Ask] = {
    "visual-action": predict,
    "mcp": survey,
    "cdp": lambda url: DevToolsUrl.parse(f"{url}?token={KEY}").ask(5.0),
    "state_diff": lambda url: fetch_json(url, {"session": KEY}),
}


def test_no_client_goes_to_another_host(subtests: pytest.Subtests) -> None:
    """The request fails, and the other host gets none."""
    for status in [302, 307, 308]:
        for name, client in CLIENTS.items():
            with (
                subtests.test(status=status, client=name),
                server(200) as (other, asked),
                server(status, f"{other}/there") as (url, first),
            ):
                with pytest.raises((BrowserEvalError, Fault)):
                    asyncio.run(client(url))
                assert first
                assert asked == []
