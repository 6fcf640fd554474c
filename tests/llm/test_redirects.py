"""Redirects of a model's server, on real sockets."""

from __future__ import annotations

import asyncio

import pytest

from pytest_browsereval.errors import Fault
from pytest_browsereval.llm.client import ChatClient
from pytest_browsereval.llm.config import LLMConfig
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


def test_a_host_without_its_scheme_is_another_one() -> None:
    """An address that begins with two slashes names a host."""
    with ScriptedModel([says("believe me")]) as other:
        location = other.base_url.removeprefix("http:").removesuffix("/v1") + PATH
        with ScriptedModel([redirect(307, location)]) as model, pytest.raises(Fault, match="another host"):
            ask(model)
        assert other.requests == []


def test_the_same_host_may_redirect() -> None:
    """A server that has moved a path is followed, with prompt and key."""
    with ScriptedModel([redirect(307, PATH), says("here")], api_key=KEY) as model:
        assert ask(model) == "here"
        assert [request.body["messages"] for request in model.requests] == [
            [{"role": "user", "content": "the page"}]
        ] * 2
