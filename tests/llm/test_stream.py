from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from pytest_browsereval.llm.completion import check_body, read_body
from pytest_browsereval.llm.stream import is_stream, read_stream


def chunk(delta: Any, finish: Any = None, **more: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **more}


def events(chunks: Iterable[Any], line: str = "\n", between: str = "\n\n") -> str:
    text = between.join(f"data: {json.dumps(each)}" for each in chunks) + f"{between}data: [DONE]{between}"
    return text.replace("\n", line)


def part(name: str | None = None, arguments: Any = None, **more: Any) -> dict[str, Any]:
    given = {"name": name, "arguments": arguments}
    return {"function": {key: value for key, value in given.items() if value is not None}, **more}


def test_a_stream_is_put_together() -> None:
    """Interleaved pieces of two calls and a text make the body of a plain reply."""
    deltas = (
        {"role": "assistant", "content": "he"},
        {"tool_calls": [{"index": 1, "id": "b", "type": "function", "function": {"name": "two"}}]},
        {"tool_calls": [{"index": 0, "id": "a", "type": "function", "function": {"name": "one"}}]},
        {"tool_calls": [{"index": 1, "function": {"arguments": '{"y"'}}]},
        {"content": "llo", "reasoning_content": "hm"},
        {"tool_calls": [{"index": 1, "function": {"arguments": ": 2}"}}]},
    )
    usage = {"prompt_tokens": 5, "completion_tokens": 6}
    chunks = [*map(chunk, deltas), chunk({}, "tool_calls", model="m"), {"choices": [], "usage": usage}]
    whole = read_stream(events(chunks))
    read = read_body(check_body(whole))
    assert [(c.id, c.name, c.arguments) for c in read.tool_calls] == [
        ("a", "one", {}),
        ("b", "two", {"y": 2}),
    ]
    assert (read.text, read.finish_reason, read.usage.output_tokens) == ("hello", "tool_calls", 6)
    assert (read.message["reasoning_content"], read.reasoning) == ("hm", "hm")
    assert whole["model"] == "m"


A, B = '{"x": 1}', '{"x": 2}'


def test_calls_are_told_apart(subtests: pytest.Subtests) -> None:
    """However a server numbers the pieces of its calls."""
    cases: list[tuple[list[Any], list[tuple[str, str, str]]]] = [
        # Several gateways number each call 0.
        ([[part("a", A, index=0, id="1")], [part("b", B, index=0, id="2")]], [("1", "a", A), ("2", "b", B)]),
        (
            [[part("a", A, index=0, id="1")], [part("a", "", index=0, id="2")], [part(None, B, index=0)]],
            [("1", "a", A), ("2", "a", B)],
        ),
        ([[part("a", A, index=0)], [part("b", B, index=0)]], [("call_1", "a", A), ("call_2", "b", B)]),
        ([[part("a", A, index=0)], [part("a", B, index=0)]], [("call_1", "a", A), ("call_2", "a", B)]),
        # A name, an id or both stand in each piece.
        ([[part("a", '{"x"', index=0, id="1")], [part("a", ": 1}", index=0, id="1")]], [("1", "a", A)]),
        ([[part("a", '{"x"', index=0)], [part("a", ": 1}", index=0)]], [("call_1", "a", A)]),
        ([[part("a", "", index=0, id="1")], [part(None, A, index=0, id="other")]], [("1", "a", A)]),
        # The last piece says it all again.
        ([[part("a", A, index=0, id="1")], [part("a", A, index=0, id="1")]], [("1", "a", A)]),
        ([[part("a", A, index=0, id="1")], [part("a", "", index=0, id="1")]], [("1", "a", A)]),
        # No number at all.
        (
            [[part("a", '{"x"', id="1")], [part(None, ": 1}")], [part("b", B, id="2")]],
            [("1", "a", A), ("2", "b", B)],
        ),
        ([[part("a", A)], [part("b", B)]], [("call_1", "a", A), ("call_2", "b", B)]),
        ([[part("a", A), part("b", B)]], [("call_1", "a", A), ("call_2", "b", B)]),
        (
            [[part("a", "", id="1"), part("b", "", id="2")], [part(None, A, id="1"), part(None, B, id="2")]],
            [("1", "a", A), ("2", "b", B)],
        ),
        # A number at the beginning alone.
        ([[part("a", "", index=1, id="1")], [part(None, A)]], [("1", "a", A)]),
        # Arguments as an object; a name in pieces; an id behind.
        ([[part("a", {"x": 1}, index=0, id="1")]], [("1", "a", A)]),
        ([[part("a", index=0)], [part("b", index=0)], [part(None, A, index=0, id="1")]], [("1", "ab", A)]),
        # One id for all.
        (
            [[part("a", "", index=0, id="1")], [part("a", "", index=1, id="1")], [part(None, B, index=1)]],
            [("1", "a", ""), ("call_1", "a", B)],
        ),
    ]
    for deltas, made in cases:
        with subtests.test(deltas=deltas, made=made):
            chunks = [*(chunk({"tool_calls": pieces}) for pieces in deltas), chunk({}, "tool_calls")]
            read = read_body(check_body(read_stream(events(chunks))))
            assert [(call.id, call.name, call.raw) for call in read.tool_calls] == made


WHOLE = [chunk({"content": "one "}), chunk({"content": "two"}), chunk({}, "stop")]


def test_events_are_read_as_servers_write_them(subtests: pytest.Subtests) -> None:
    """Line ends, comments, pings and what follows the end change nothing."""
    cases: list[str] = [
        events(WHOLE, line="\r\n"),
        events(WHOLE, line="\r"),
        events(WHOLE, between="\n"),
        ": keep-alive\n\n" + events([{}, {"type": "ping"}, *WHOLE]),
        "event: message\nid: 1\n" + events(WHOLE),
        events(WHOLE) + "data: trailing rubbish\n\n",
        events([chunk({"content": [{"type": "text", "text": "one "}]}), *WHOLE[1:]]),
        events([chunk({"content": "one two"}, "stop")]),
        events([{"choices": [{"index": None, "message": {"content": "one two"}, "finish_reason": "stop"}]}]),
        events([*WHOLE, chunk(None), {"choices": None, "usage": None}]),
    ]
    for text in cases:
        with subtests.test(text=text):
            assert is_stream(text)
            assert read_body(check_body(read_stream(text))).text == "one two"
