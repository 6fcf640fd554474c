from __future__ import annotations

from typing import Any

import pytest

from pytest_browsereval.features.scripted_model.protocol import check_request
from pytest_browsereval.llm.completion import check_body, read_body
from pytest_browsereval.llm.retries import TryFailed


def body(message: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": "stop"}], **more}


def function(name: str, arguments: Any, call_id: str | None = "c1") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def test_a_body_without_a_reply_is_refused(subtests: pytest.Subtests) -> None:
    """Whatever is no reply counts as a failed try."""
    cases: list[Any] = [
        None,
        {},
        {"choices": []},
        {"choices": [{}]},
        {"choices": [{"finish_reason": "stop"}]},
        {"choices": [{"finish_reason": "stop", "message": {"content": 7.25}}]},
        {"choices": [{"finish_reason": "stop", "message": {"content": [7.25]}}]},
        {"choices": [{"finish_reason": "stop", "message": {"content": {"answer": 7.25}}}]},
        {"choices": [{"message": {"content": ""}}]},
    ]
    for given in cases:
        with subtests.test(given=given):
            with pytest.raises(TryFailed, match="the reply") as caught:
                check_body(given)
            assert caught.value.is_worth_a_retry


def test_of_several_choices_the_first_is_the_reply() -> None:
    """It is the one with the number 0, as in a stream, wherever it stands."""
    choices = [{"index": n, "message": {"content": str(n)}, "finish_reason": "stop"} for n in (1, 0)]
    assert read_body(check_body({"choices": choices})).text == "0"
    assert read_body(check_body({"choices": choices[:1]})).text == "1"


def test_text_is_read_from_strings_parts_and_refusals() -> None:
    """All forms of content give the same text."""
    assert read_body(body({"content": "hello"})).text == "hello"
    parts = [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]
    assert read_body(body({"content": parts})).text == "hello"
    assert read_body(body({"content": None, "refusal": "I will not"})).text == "I will not"
    assert read_body(body({"content": None})).text == ""


def test_arguments_are_an_object_or_nothing(subtests: pytest.Subtests) -> None:
    """Servers that send an object instead of text are understood; what is no object is None."""
    cases: list[tuple[Any, dict[str, Any] | None]] = [
        ('{"x": 1}', {"x": 1}),
        ("", {}),
        (None, {}),
        ({"x": 1}, {"x": 1}),
        ('{"x": ', None),
        ("[1]", None),
        ("null", None),
    ]
    for given, arguments in cases:
        with subtests.test(given=given, arguments=arguments):
            reply = read_body(body({"content": None, "tool_calls": [function("click", given)]}))
            assert reply.tool_calls[0].arguments == arguments


def test_half_a_character_of_a_model_spoils_nothing() -> None:
    """Single surrogates are legal in JSON, and in no file or request: they are replaced."""
    call = {"id": "c", "function": {"name": "done", "arguments": '{"answer": ["12.5 \\ud800"]}'}}
    body = {"choices": [{"message": {"content": "12.5 \ud800", "tool_calls": [call]}}]}
    reply = read_body(body)
    assert reply.text == "12.5 \N{REPLACEMENT CHARACTER}"
    assert reply.tool_calls[0].arguments == {"answer": ["12.5 \N{REPLACEMENT CHARACTER}"]}


def test_calls_without_an_id_get_one() -> None:
    """Some servers leave ids out; the answers still need something to refer to."""
    calls = [function("a", "{}", None), function("b", "{}", "")]
    reply = read_body(body({"content": None, "tool_calls": calls}))
    assert [call.id for call in reply.tool_calls] == ["call_1", "call_2"]
    assert [call["id"] for call in reply.message["tool_calls"]] == ["call_1", "call_2"]


def test_a_reply_can_always_be_sent_back() -> None:
    """Broken arguments and impossible names are mended in the history, not in what is recorded."""
    calls = [function("do it; now", '{"x": ', "c1"), function("", "", "c2")]
    reply = read_body(body({"content": None, "tool_calls": calls}))
    assert [call.name for call in reply.tool_calls] == ["do it; now", ""]
    assert reply.tool_calls[0].raw == '{"x": '
    answers = [{"role": "tool", "tool_call_id": c.id, "content": "no"} for c in reply.tool_calls]
    user = {"role": "user", "content": "go"}
    check_request({"model": "m", "messages": [user, reply.message, *answers]})


def test_what_a_provider_needs_back_is_sent_back() -> None:
    """Thoughts between calls and signatures beside a call; other fields of a message are left out."""
    message: dict[str, Any] = {"content": "x", "reasoning_content": "hm", "annotations": []}
    told = {"role": "assistant", "content": "x", "reasoning_content": "hm"}
    assert read_body(body(message)).message == told
    call = {**function("a", "{}"), "extra_content": {"google": {"thought_signature": "s"}}}
    reply = read_body(body({"content": None, "tool_calls": [call]}))
    assert reply.message["tool_calls"][0]["extra_content"] == {"google": {"thought_signature": "s"}}
