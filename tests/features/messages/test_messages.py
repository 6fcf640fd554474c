"""Anthropic's Messages: conversations, odd replies and errors on a real socket, plain and streamed."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from pytest_browsereval.errors import ErrorSource, Fault, StopRun
from pytest_browsereval.llm.client import ChatClient
from pytest_browsereval.llm.completion import CUT, Completion
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.llm.retries import RetryPolicy
from tests.api_servers import KEY, Answer, Body, MessagesServer, message, thinking, use, uses

HELLO = [{"role": "user", "content": "hello"}]
TOOL = {
    "type": "function",
    "function": {"name": "click", "description": "Clicks.", "parameters": {"type": "object"}},
}
PICTURE = "data:image/png;base64," + base64.b64encode(b"a picture").decode()


def failed(kind: str, why: str) -> Body:
    return {"type": "error", "error": {"type": kind, "message": why}}


def ask(
    server: MessagesServer,
    messages: Sequence[Mapping[str, Any]] = HELLO,
    *,
    waits: list[float] | None = None,
    options: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Completion:
    async def sleep(seconds: float) -> None:
        if waits is not None:
            waits.append(seconds)

    async def run() -> Completion:
        block = {"provider": "anthropic", "model": "claude-x", "base_url": server.base_url, "api_key": KEY}
        config = LLMConfig.model_validate({**block, **fields})
        client = ChatClient(config, RetryPolicy(config.max_tries, sleep=sleep, draw=lambda: 1.0))
        try:
            return await client.complete(messages, **(options or {}))
        finally:
            await client.close()

    return asyncio.run(run())


def test_a_conversation_is_kept_as_it_was(subtests: pytest.Subtests) -> None:
    """Texts, pictures, calls and thoughts go there and back; the server finds its thoughts unchanged."""
    first = uses(
        use("click", "toolu_1", target="e1"),
        use("click", "toolu_2", target="e2"),
        before=[
            thinking("Two buttons.", "c2lnMQ=="),
            "I click.",
            {"type": "redacted_thinking", "data": "eA=="},
        ],
    )
    for stream in (False, True):
        with subtests.test(stream=stream), MessagesServer([first, message("Done.")]) as server:
            picture = {"type": "image_url", "image_url": {"url": PICTURE}}
            talk: list[Body] = [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": [{"type": "text", "text": "Look:"}, picture]},
            ]
            options = {"tools": [TOOL]}
            reply = ask(server, talk, stream=stream, options=options)
            assert [(one.id, one.name, one.arguments) for one in reply.tool_calls] == [
                ("toolu_1", "click", {"target": "e1"}),
                ("toolu_2", "click", {"target": "e2"}),
            ]
            assert (reply.text, reply.reasoning) == ("I click.", "Two buttons.")
            talk += [
                reply.message,
                {"role": "tool", "tool_call_id": "toolu_1", "content": "ok"},
                {"role": "tool", "tool_call_id": "toolu_2", "content": ""},
                {"role": "user", "content": "Go on."},
            ]
            last = ask(server, talk, stream=stream, options=options)
            assert (last.text, last.finish_reason, server.problems) == ("Done.", "end_turn", [])
            sent = server.requests[1]
            assert [turn["role"] for turn in sent["messages"]] == ["user", "assistant", "user"]
            assert sent["system"][0]["text"] == "Be brief."
            assert sent["messages"][0]["content"][1]["source"]["media_type"] == "image/png"
            assert (sent["tools"][0]["name"], sent["max_tokens"]) == ("click", 16_000)
            assert server.headers[0]["anthropic-version"] == "2023-06-01"
            assert "authorization" not in server.headers[0]


def test_settings_reach_the_request() -> None:
    """What is set is sent under Anthropic's names; a model that thinks is not made to call."""
    form = {"type": "json_schema", "json_schema": {"name": "grade", "schema": {"type": "object"}}}
    with MessagesServer(lambda _: message("ok")) as server:
        ask(server, temperature=0, max_output_tokens=50, options={"response_format": form})
        required: Body = {"tools": [TOOL], "tool_choice": "required"}
        ask(server, reasoning_effort="low", reasoning_summary="auto", options=required)
        ask(server, reasoning_effort="none", options=required)
        named = {"type": "function", "function": {"name": "click"}}
        ask(server, options={"tools": [TOOL], "tool_choice": named})
        ask(server, options={"response_format": {"type": "json_object"}})
    first, thinks, plain, one, bare = server.requests
    assert set(bare) == {"model", "max_tokens", "messages"}
    assert (first["temperature"], first["max_tokens"]) == (0, 50)
    assert first["output_config"] == {"format": {"type": "json_schema", "schema": {"type": "object"}}}
    assert thinks["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert thinks["output_config"] == {"effort": "low"}
    assert (thinks["tool_choice"], plain["tool_choice"]) == ({"type": "auto"}, {"type": "any"})
    assert plain["thinking"] == {"type": "disabled"}
    assert one["tool_choice"] == {"type": "tool", "name": "click"}
    assert server.problems == []


def test_another_server_gets_the_key_in_both_headers() -> None:
    """Servers that speak Messages differ in where they look for it; one without a key gets none."""
    with MessagesServer(lambda _: message("ok")) as server:
        ask(server, provider="openai-compatible", api="messages")
        assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    with MessagesServer(lambda _: message("ok"), key="") as server:
        server.is_let_in = lambda headers: not headers.keys() & {"authorization", "x-api-key"}  # type: ignore[method-assign]
        assert ask(server, provider="ollama", api="messages", api_key="none").text == "ok"


COUNTED = {"input_tokens": 7, "cache_read_input_tokens": 4000, "cache_creation_input_tokens": 500}


def test_tokens_of_the_cache_are_counted_and_priced() -> None:
    """They are part of the input, as elsewhere, and have prices of their own."""
    prices = {"input_per_mtok": 3, "output_per_mtok": 15, "cache_read_per_mtok": 0.3}
    for stream in (False, True):
        with MessagesServer([message("ok", usage={**COUNTED, "output_tokens": 20})]) as server:
            usage = ask(server, prices={**prices, "cache_write_per_mtok": 3.75}, stream=stream).usage
        assert (usage.input_tokens, usage.output_tokens) == (4507, 20)
        assert (usage.cache_read_tokens, usage.cache_write_tokens) == (4000, 500)
        assert usage.cost_usd == pytest.approx((7 * 3 + 4000 * 0.3 + 500 * 3.75 + 20 * 15) / 1e6)


ODD: dict[str, tuple[Body, str]] = {
    "refusal": (message("I", reason="refusal"), "a filter of the provider withheld the reply"),
    "refusal, named": (
        message(reason="refusal", stop_details={"type": "refusal", "category": "cyber"}),
        "finish_reason 'refusal: cyber'",
    ),
    "pause_turn": (message("Let me", reason="pause_turn"), "cut the reply off (finish_reason 'pause_turn')"),
    "tool_use without a call": (message("I click.", reason="tool_use"), "has no call"),
    "no content": ({"type": "message", "usage": {"input_tokens": 1, "output_tokens": 1}}, "has no choices"),
    "a block without a type": (message({"text": "x"}), "cannot be read"),
}


def test_a_reply_that_is_not_whole_is_asked_for_again(subtests: pytest.Subtests) -> None:
    """It is never an answer; the attempt is errored by the provider, and what it took is counted."""
    for name, (odd, why) in ODD.items():
        for stream in (False, True) if "no content" not in name and "type" not in name else (False,):
            with subtests.test(name, stream=stream), MessagesServer([odd, odd, message("7.25")]) as server:
                with pytest.raises(Fault) as caught:
                    ask(server, stream=stream, max_tries=2)
                assert caught.value.source is ErrorSource.PROVIDER
                assert why in str(caught.value)
                reply = ask(server, stream=stream)
                assert (reply.text, len(server.requests)) == ("7.25", 3)


def test_a_stream_that_breaks_off_is_asked_for_again(subtests: pytest.Subtests) -> None:
    """Whether the connection ends, the last events are missing or an error comes in the middle."""
    whole = uses(use("click", "a", target="e1"), before=["The lamp costs 7"])
    overloaded = Answer(whole, tail=(failed("overloaded_error", "Overloaded"),))
    cases = {"no end": Answer(whole, is_cut=True), "error": overloaded}
    for name, odd in cases.items():
        with subtests.test(name), MessagesServer([odd, message("7.25")]) as server:
            reply = ask(server, stream=True, options={"tools": [TOOL]})
            assert (reply.text, reply.retries, reply.usage.requests) == ("7.25", 1, 2)
    with MessagesServer([Answer(message("The lamp costs 7.25"), is_cut=True), message("8")]) as server:
        assert ask(server).text == "8"


def test_an_error_in_a_stream_has_its_status() -> None:
    """One that is about the request is not sent again, and an overloaded server is an outage."""
    for kind, status in (("invalid_request_error", 400), ("overloaded_error", 529)):
        broken = Answer(message("x"), tail=(failed(kind, "no"),))
        with MessagesServer([broken] * 2) as server, pytest.raises(Fault) as caught:
            ask(server, stream=True, max_tries=2)
        assert (caught.value.status, len(server.requests)) == (status, 1 if status == 400 else 2)


def test_a_reply_that_met_a_limit_is_cut(subtests: pytest.Subtests) -> None:
    """Its calls have no arguments, whatever of them has come."""
    for reason in ("max_tokens", "model_context_window_exceeded"):
        for stream in (False, True):
            cut = message("I cl", use("click", "a", target="e1"), reason=reason)
            with subtests.test(reason, stream=stream), MessagesServer([cut]) as server:
                reply = ask(server, stream=stream, options={"tools": [TOOL]})
                assert (reply.finish_reason, reply.tool_calls[0].arguments) == (CUT, None)


def test_only_thoughts_are_no_answer() -> None:
    """A reply that only thinks, or has nothing at all, has no text."""
    for stream in (False, True):
        with MessagesServer([message(thinking("Maybe 72.", "cw==")), message()]) as server:
            thoughtful, empty = ask(server, stream=stream), ask(server, stream=stream)
        assert (thoughtful.text, thoughtful.reasoning, empty.text) == ("", "Maybe 72.", "")


def test_arguments_that_are_no_json_object_are_none(subtests: pytest.Subtests) -> None:
    """A streamed call may have any text as its arguments, a plain one any value; none is no arguments."""
    cases: list[tuple[Any, Any]] = [('{"target": ', None), ("[1]", None), ({}, {}), ('{"a": 1}', {"a": 1})]
    for given, read in cases:
        for stream in (True,) if isinstance(given, str) else (False, True):
            call = {"type": "tool_use", "id": "a", "name": "click", "input": given}
            with subtests.test(given=given, stream=stream), MessagesServer([uses(call)]) as server:
                reply = ask(server, stream=stream, options={"tools": [TOOL]})
                assert reply.tool_calls[0].arguments == read


def test_errors_are_told_in_the_provider_s_words(subtests: pytest.Subtests) -> None:
    """A refused key and an empty account end the run; the key stands in no message."""
    error = failed("x", f"bad {KEY}")
    poor = failed("invalid_request_error", "Your credit balance is too low")
    cases: list[tuple[Answer, type[Fault], str]] = [
        (Answer(error, 401), StopRun, "Check the api_key"),
        (Answer(poor, 400), StopRun, "credit balance"),
        (Answer(error, 400), Fault, "answered 400"),
        (Answer(error, 413), Fault, "answered 413"),
    ]
    for answer, kind, said in cases:
        with subtests.test(said), MessagesServer([answer]) as server:
            with pytest.raises(kind) as caught:
                ask(server)
            assert (said in str(caught.value), KEY in str(caught.value)) == (True, False)
            assert len(server.requests) == 1


def test_an_overloaded_server_is_asked_again() -> None:
    """After the time that it names: 429 with retry-after, 529 and 500."""
    busy = [
        Answer(failed("rate_limit_error", "wait"), 429, {"retry-after": "7"}),
        Answer(failed("overloaded_error", "Overloaded"), 529),
        Answer(failed("api_error", "oops"), 500),
    ]
    waits: list[float] = []
    with MessagesServer([*busy, message("at last")]) as server:
        reply = ask(server, waits=waits)
    assert (reply.text, reply.retries) == ("at last", 3)
    assert waits[0] >= 7


def test_tools_as_texts_work_with_it() -> None:
    """``tool_calling: json_schema`` asks for a reply that follows a schema."""
    call = json.dumps({"tool": "click", "arguments": {"target": "e1"}})
    with MessagesServer([message(thinking("hm", "cw=="), call), message("ok")]) as server:
        fields: Body = {"tool_calling": "json_schema"}
        reply = ask(server, options={"tools": [TOOL]}, **fields)
        assert reply.tool_calls[0].arguments == {"target": "e1"}
        result = {"role": "tool", "tool_call_id": reply.tool_calls[0].id, "content": "ok"}
        ask(server, [*HELLO, reply.message, result], options={"tools": [TOOL]}, **fields)
        assert server.problems == []


def test_a_redirect_to_another_host_is_sent_no_key() -> None:
    """Clients drop the usual header on the way, but not Anthropic's: nothing is sent there."""
    with MessagesServer([message("believe me")]) as other:
        there = {"Location": f"{other.base_url}/messages"}
        with MessagesServer([Answer({}, 307, there)]) as server, pytest.raises(Fault, match="another host"):
            ask(server)
        assert (other.requests, other.problems) == ([], [])
