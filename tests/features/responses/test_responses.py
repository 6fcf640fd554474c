"""OpenAI's Responses: conversations, odd replies and errors on a real socket, plain and streamed."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from openai.types.responses import Response

from pytest_browsereval.errors import ErrorSource, Fault, StopRun
from pytest_browsereval.llm.client import ChatClient
from pytest_browsereval.llm.completion import CUT, Completion
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.llm.retries import RetryPolicy
from tests.api_servers import KEY, Answer, Body
from tests.responses_server import ResponsesServer, function_call, reasoning, response, said

HELLO = [{"role": "user", "content": "hello"}]
TOOL = {
    "type": "function",
    "function": {"name": "click", "description": "Clicks.", "parameters": {"type": "object"}},
}
PICTURE = "data:image/png;base64," + base64.b64encode(b"a picture").decode()


def ask(
    server: ResponsesServer,
    messages: Sequence[Mapping[str, Any]] = HELLO,
    *,
    times: int = 1,
    options: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Completion:
    async def sleep(_: float) -> None:
        pass

    async def run() -> Completion:
        block = {"provider": "openai", "api": "responses", "model": "gpt-x", "api_key": KEY}
        config = LLMConfig.model_validate({**block, "base_url": server.base_url, **fields})
        client = ChatClient(config, RetryPolicy(config.max_tries, sleep=sleep))
        try:
            for _ in range(times):
                reply = await client.complete(messages, **(options or {}))
            return reply
        finally:
            await client.close()

    return asyncio.run(run())


def test_the_stand_in_speaks_the_real_format() -> None:
    """What it sends is what the provider's own package defines."""
    replies = [
        response(reasoning(1, "hm"), "text", function_call("click", "a", target="e1")),
        response(said("no", "refusal")),
        response("x", status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
    ]
    for body in replies:
        more = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
        Response.model_validate_json(json.dumps({**body, **more}), strict=True)


def test_a_conversation_keeps_its_reasoning(subtests: pytest.Subtests) -> None:
    """Items go back in their order: the server takes no reasoning without what followed it."""
    first = response(
        reasoning(1, "Two buttons."),
        "I click.",
        reasoning(2),
        function_call("click", "a", target="e1"),
        function_call("click", "b", target="e2"),
    )
    for stream in (False, True):
        with subtests.test(stream=stream), ResponsesServer([first, response("Done.")]) as server:
            parts = [{"type": "text", "text": "Look:"}, {"type": "image_url", "image_url": {"url": PICTURE}}]
            talk: list[Body] = [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": parts},
            ]
            options = {"tools": [TOOL]}
            reply = ask(server, talk, stream=stream, options=options)
            assert [(one.id, one.arguments) for one in reply.tool_calls] == [
                ("a", {"target": "e1"}),
                ("b", {"target": "e2"}),
            ]
            assert (reply.text, reply.reasoning, reply.finish_reason) == (
                "I click.",
                "Two buttons.",
                "tool_calls",
            )
            usage = reply.usage
            assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (100, 10, 40)
            results = [
                {"role": "tool", "tool_call_id": name, "content": content}
                for name, content in (("a", "ok"), ("b", ""))
            ]
            last = ask(server, [*talk, reply.message, *results], stream=stream, options=options)
            assert (last.text, last.finish_reason, server.problems) == ("Done.", "stop", [])
            kinds = [item["type"] for item in server.requests[1]["input"]]
            assert kinds[2:7] == ["reasoning", "message", "reasoning", "function_call", "function_call"]
            assert server.requests[1]["include"] == ["reasoning.encrypted_content"]


def test_settings_reach_the_request() -> None:
    """What is set is sent under the names of Responses; what is not set is left out."""
    schema = {"name": "grade", "strict": True, "schema": {"type": "object"}}
    named = {"type": "function", "function": {"name": "click"}}
    with ResponsesServer(lambda _: response("ok")) as server:
        ask(server)
        ask(
            server,
            temperature=0,
            max_output_tokens=50,
            reasoning_effort="low",
            reasoning_summary="auto",
            options={
                "tools": [TOOL],
                "tool_choice": named,
                "response_format": {"type": "json_schema", "json_schema": schema},
            },
        )
        ask(server, options={"response_format": {"type": "json_object"}})
    first, second, third = server.requests
    assert set(first) == {"model", "store", "include", "input"}
    assert (second["temperature"], second["max_output_tokens"]) == (0, 50)
    assert second["reasoning"] == {"effort": "low", "summary": "auto"}
    assert second["tool_choice"] == {"type": "function", "name": "click"}
    assert second["text"] == {"format": {"type": "json_schema", **schema}}
    assert third["text"] == {"format": {"type": "json_object"}}
    assert server.problems == []


def test_a_model_that_does_not_reason_is_asked_without() -> None:
    """It refuses to encrypt what it has not; the next requests do not ask for it, and none is a retry."""
    with ResponsesServer(lambda _: response("ok")) as server:
        server.is_reasoning = False
        reply = ask(server, times=3)
        assert (reply.text, reply.retries, len(server.problems)) == ("ok", 0, 1)


ODD: dict[str, tuple[Body, str]] = {
    "filter": (
        response("I", status="incomplete", incomplete_details={"reason": "content_filter"}),
        "a filter of the provider withheld the reply",
    ),
    "incomplete": (response("I", status="incomplete"), "cut the reply off"),
    "failed": (
        response(status="failed", error={"code": "server_error", "message": "The model died."}),
        "The model died.",
    ),
    "an item without a type": (response({"text": "x"}), "cannot be read"),
    "no output": ({"object": "response", "status": "completed"}, "has no choices"),
}


def test_a_reply_that_is_not_whole_is_asked_for_again(subtests: pytest.Subtests) -> None:
    """It is never an answer; the attempt is errored by the provider."""
    for name, (odd, why) in ODD.items():
        for stream in (False, True) if name in ("filter", "incomplete", "failed") else (False,):
            with subtests.test(name, stream=stream), ResponsesServer([odd, odd, response("7.25")]) as server:
                with pytest.raises(Fault) as caught:
                    ask(server, stream=stream, max_tries=2)
                assert caught.value.source is ErrorSource.PROVIDER
                assert why in str(caught.value)
                assert ask(server, stream=stream).text == "7.25"
                assert len(server.requests) == 3


def test_a_stream_that_breaks_off_is_asked_for_again(subtests: pytest.Subtests) -> None:
    """Whether its last events are missing or an error comes instead."""
    whole = response("The lamp costs 7", function_call("click", "a"))
    error: Body = {"type": "error", "code": "server_error", "message": "upstream died", "param": None}
    for name, odd in {"no end": Answer(whole, is_cut=True), "error": Answer(whole, tail=(error,))}.items():
        with subtests.test(name), ResponsesServer([odd, response("7.25")]) as server:
            reply = ask(server, stream=True)
            assert (reply.text, reply.retries) == ("7.25", 1)
    with ResponsesServer([Answer(response("The lamp costs 7.25"), is_cut=True), response("8")]) as server:
        assert ask(server).text == "8"


def test_a_reply_that_met_a_limit_is_cut() -> None:
    """Its calls have no arguments, whatever of them has come."""
    call = {**function_call("click", "a"), "arguments": '{"target": "e', "status": "incomplete"}
    cut = response("I", call, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
    for stream in (False, True):
        with ResponsesServer([cut]) as server:
            reply = ask(server, stream=stream)
        assert (reply.finish_reason, reply.tool_calls[0].arguments) == (CUT, None)


def test_refusals_thoughts_and_nothing_are_no_answers() -> None:
    """A refusal is told apart; a reply that only thinks, or has nothing at all, has no text."""
    for stream in (False, True):
        with ResponsesServer(
            [response(said("I won't.", "refusal")), response(reasoning(1, "hm")), response()]
        ) as s:
            refusal, thoughtful, empty = (ask(s, stream=stream) for _ in range(3))
        assert (refusal.refusal, refusal.text) == ("I won't.", "I won't.")
        assert (thoughtful.text, thoughtful.reasoning, empty.text) == ("", "hm", "")


def test_broken_arguments_are_none_and_go_back_as_an_object() -> None:
    """The history that is sent back holds no arguments that the provider refuses."""
    broken = {**function_call("click", "a"), "arguments": '{"target": '}
    for stream in (False, True):
        with ResponsesServer([response(reasoning(1), broken), response("ok")]) as server:
            reply = ask(server, stream=stream)
            assert reply.tool_calls[0].arguments is None
            result = {"role": "tool", "tool_call_id": "a", "content": "failed"}
            assert ask(server, [*HELLO, reply.message, result], stream=stream).text == "ok"


def test_items_that_only_come_one_by_one_are_read() -> None:
    """Several servers send a last event without them."""
    whole = response("7.25")
    last = {"type": "response.completed", "response": {**whole, "output": []}}
    events = {"type": "response.output_item.done", "output_index": 0, "item": said("7.25")}
    with ResponsesServer([Answer(response(), tail=(events, last))]) as server:
        assert ask(server, stream=True).text == "7.25"


def test_errors_are_told_in_the_provider_s_words() -> None:
    """A refused key and an empty account end the run, a busy server is asked again."""
    broke: Body = {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}
    with ResponsesServer([Answer(broke, 429)]) as server, pytest.raises(StopRun, match="exceeded your quota"):
        ask(server)
    with ResponsesServer([]) as server, pytest.raises(StopRun, match="invalid") as caught:
        ask(server, api_key="sk-another-0123456789")
    assert "sk-another" not in str(caught.value)
    busy = Answer({"error": {"message": "slow down"}}, 429, {"retry-after": "0"})
    with ResponsesServer([busy, response("ok")]) as server:
        assert ask(server).retries == 1


def test_what_it_cannot_do_is_refused_before_anything_is_sent(subtests: pytest.Subtests) -> None:
    """A seed, and an API that the provider has not: with what to write."""
    cases: list[tuple[Body, str]] = [
        ({"provider": "openai", "api": "responses", "seed": 1}, "does not take a seed"),
        ({"provider": "openai", "api": "messages"}, "has no `api: messages`. It has `chat`, `responses`"),
        ({"provider": "anthropic", "api": "chat", "model": "m"}, "It has `messages`"),
    ]
    for block, why in cases:
        with subtests.test(why), pytest.raises(ValueError, match=why.replace("(", r"\(")):
            LLMConfig.model_validate(block)
