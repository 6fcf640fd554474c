"""One request over HTTP: bounds of replies while they are read, and redirects, on real sockets."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator

import httpx
import pytest

from pytest_browsereval.errors import Fault
from pytest_browsereval.llm import wire
from pytest_browsereval.llm.client import ChatClient
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.llm.retries import TryFailed
from pytest_browsereval.testing import Reply, ScriptedModel, says

KEY = "sk-test-0123456789"
PATH = "/v1/chat/completions"


def ask(model: ScriptedModel, *, stream: bool = False) -> str | None:
    async def run() -> str | None:
        keys = {"model": "scripted", "base_url": model.base_url, "api_key": KEY, "stream": stream}
        client = ChatClient(LLMConfig.model_validate(keys))
        try:
            return (await client.complete([{"role": "user", "content": "the page"}])).text
        finally:
            await client.close()

    return asyncio.run(run())


def redirect(status: int, location: str) -> Reply:
    return Reply(status=status, error="elsewhere", headers={"Location": location})


def test_no_other_host_is_asked() -> None:
    """An address that begins with two slashes names a host too; the error names the host."""
    with ScriptedModel([says("believe me")]) as other:
        there = other.base_url.removesuffix("/v1")
        told = f"it redirects to {there}, which is another host"
        for location in (there, there.removeprefix("http:")):
            with ScriptedModel([redirect(307, location + PATH)]) as model, pytest.raises(Fault, match=told):
                ask(model)
        assert other.requests == []


def test_the_same_host_may_redirect() -> None:
    """A server that has moved a path is followed, with prompt and key."""
    with ScriptedModel([redirect(307, PATH), says("here")], api_key=KEY) as model:
        assert ask(model) == "here"
        assert [request.body["messages"] for request in model.requests] == [
            [{"role": "user", "content": "the page"}]
        ] * 2


class Stream(httpx.AsyncByteStream):
    """Sends a reply in small pieces, and counts them."""

    def __init__(self, data: bytes) -> None:
        self.pieces = [data[start : start + 1_000] for start in range(0, len(data), 1_000)]
        self.sent = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self.pieces:
            self.sent += 1
            yield piece


def test_a_reply_is_cut_off_at_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed or not, the rest is not read; the bound is that of the unpacked text."""
    monkeypatch.setattr(wire, "MAX_REPLY_BYTES", 100_000)

    async def read(data: bytes, encoding: str, stream: Stream) -> bytes:
        response = httpx.Response(200, headers={"content-encoding": encoding}, stream=stream)
        await wire.bound_reply(response)
        return await response.aread()

    long, bomb = b"x" * 1_000_000, gzip.compress(b"x" * 10_000_000)
    for data, encoding in ((long, "identity"), (bomb, "gzip")):
        stream = Stream(data)
        with pytest.raises(TryFailed, match="longer than 100000 bytes") as told:
            asyncio.run(read(data, encoding, stream))
        assert not told.value.is_worth_a_retry
        assert stream.sent < len(stream.pieces)
    whole = gzip.compress(b"y" * 50_000)
    assert asyncio.run(read(whole, "gzip", Stream(whole))) == b"y" * 50_000
