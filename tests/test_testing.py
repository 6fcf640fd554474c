from __future__ import annotations

import http.client
import json
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import pytest
from pydantic import BaseModel, Field

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.testing import (
    Call,
    ModelRequest,
    ScriptedModel,
    call,
    calls,
    check_tool,
    done,
    refuses,
    says,
)
from pytest_browsereval.tools.base import Tool, tool

USER = {"role": "user", "content": "hello"}


def post(model: ScriptedModel, body: Any, **headers: str) -> tuple[int, dict[str, str], str]:
    return ask(model, "POST", "/chat/completions", body, **headers)


def ask(
    model: ScriptedModel, verb: str, path: str, body: Any = None, **headers: str
) -> tuple[int, dict[str, str], str]:
    address = urlsplit(model.base_url)
    connection = http.client.HTTPConnection(address.netloc, timeout=60)
    try:
        data = body if isinstance(body, str) else json.dumps(body)
        connection.request(verb, address.path + path, data, headers)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read().decode()
    finally:
        connection.close()


def refusal(body: Any) -> str:
    with ScriptedModel(lambda _: says("fine")) as model:
        status, _, text = post(model, body)
    assert (status, len(model.problems)) == (400, 1), text
    return str(json.loads(text)["error"]["message"])


def request(*messages: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": list(messages), **more}


def assistant(*made: Call) -> dict[str, Any]:
    functions = [
        {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.arguments}} for c in made
    ]
    return {"role": "assistant", "content": None, "tool_calls": functions}


def test_a_script_is_played_in_order() -> None:
    """Each request gets the next reply; a string is a reply of text."""
    with ScriptedModel(["one", calls(call("click", target="e1")), done("42")]) as model:
        bodies = [json.loads(post(model, request(USER))[2]) for _ in range(3)]
        model.assert_finished()
    messages = [body["choices"][0]["message"] for body in bodies]
    assert messages[0]["content"] == "one"
    assert messages[1]["tool_calls"][0]["function"] == {"name": "click", "arguments": '{"target": "e1"}'}
    assert messages[2]["tool_calls"][0]["function"]["name"] == "done"
    assert [body["choices"][0]["finish_reason"] for body in bodies] == ["stop", "tool_calls", "tool_calls"]


def test_a_script_that_raises_refuses() -> None:
    """A mistake in the test's own function is told, not taken for a broken connection."""

    def broken(asked: ModelRequest) -> str:
        return str(1 / (len(asked.messages) - 1))

    with ScriptedModel(broken) as model:
        status, _, text = post(model, request(USER))
    assert (status, "the script raised ZeroDivisionError" in text) == (400, True)
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        model.assert_finished()


def test_a_script_that_is_over_refuses() -> None:
    """One request too many is an error of the test, not a silent repetition."""
    with ScriptedModel(["only one"]) as model:
        post(model, request(USER))
        status, _, text = post(model, request(USER))
    assert (status, "the script is over" in text) == (400, True)
    with pytest.raises(AssertionError, match="the script is over"):
        model.assert_finished()


def test_replies_that_nobody_asked_for_are_told() -> None:
    """A test notices that the agent stopped early."""
    with ScriptedModel(["one", "two"]) as model:
        post(model, request(USER))
    with pytest.raises(AssertionError, match="1 replies"):
        model.assert_finished()


def test_errors_have_status_headers_and_body() -> None:
    """An error looks as a provider's does."""
    with ScriptedModel([refuses(429, "slow down", retry_after=3, code="rate_limit_exceeded")]) as model:
        status, headers, text = post(model, request(USER))
    assert (status, headers["Retry-After"]) == (429, "3")
    assert json.loads(text)["error"]["message"] == "slow down"
    assert json.loads(text)["error"]["code"] == "rate_limit_exceeded"


def test_a_cut_reply_ends_in_the_middle() -> None:
    """The connection closes before the promised length."""
    with (
        ScriptedModel([says("a text that is long enough").cut()]) as model,
        pytest.raises(http.client.IncompleteRead),
    ):
        post(model, request(USER))


def test_a_slow_reply_does_not_hold_up_the_end() -> None:
    """Closing the server ends replies that are still waited for."""
    with ScriptedModel([says("never").after(600)]) as model:
        address = urlsplit(model.base_url)
        connection = http.client.HTTPConnection(address.netloc, timeout=30)
        connection.request("POST", address.path + "/chat/completions", json.dumps(request(USER)))
    with pytest.raises((http.client.HTTPException, OSError)):
        connection.getresponse()
    connection.close()


def test_a_stream_comes_in_pieces_and_ends() -> None:
    """Server-sent events with pieces of the text, the usage if wanted, and the end mark."""
    wanted = request(USER, stream=True, stream_options={"include_usage": True})
    with ScriptedModel([says("a text in several pieces").costing(3, 4)]) as model:
        _, headers, text = post(model, wanted)
    assert headers["Content-Type"] == "text/event-stream"
    events = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    pieces = [choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"]]
    assert "".join(pieces) == "a text in several pieces"
    assert len([piece for piece in pieces if piece]) > 1
    assert chunks[-1]["usage"]["completion_tokens"] == 4


def test_the_key_is_asked_for() -> None:
    """Without the right key the answer is 401, and no reply of the script is used."""
    with ScriptedModel(["secret"], api_key="sk-right") as model:
        assert post(model, request(USER))[0] == 401
        assert post(model, request(USER), Authorization="Bearer sk-wrong")[0] == 401
        assert post(model, request(USER), Authorization="Bearer sk-right")[0] == 200


def test_requests_are_recorded() -> None:
    """Messages, tool names and headers can be asserted on."""
    tools = [{"type": "function", "function": {"name": "click"}}]
    with ScriptedModel(["ok"]) as model:
        post(model, request(USER, tools=tools), **{"X-Trace": "7"})
    [seen] = model.requests
    assert isinstance(seen, ModelRequest)
    assert (seen.messages, seen.tool_names, seen.headers["x-trace"]) == ([USER], ["click"], "7")


def json_schema(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "x", "schema": schema, **more}}


LOOSE = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "object", "properties": {}}},
    "required": ["a", "b"],
    "additionalProperties": False,
}
A, B = call("click", target="e1"), call("click", target="e2")
ANSWER = {"role": "tool", "tool_call_id": A.id, "content": "ok"}


def test_what_real_servers_refuse_is_refused(subtests: pytest.Subtests) -> None:
    """Each fault of the protocol is a 400 that says what is wrong, and is kept for the test."""
    cases: list[tuple[Any, str]] = [
        ("not json", "model: Field required"),
        ({"messages": [USER]}, "model: Field required"),
        (request(), "messages: List should have at least 1 item"),
        (request({"role": "robot", "content": "x"}), "messages.0: Input tag 'robot'"),
        (
            request({"role": "user", "content": None}),
            "messages.0.user.content.str: Input should be a valid string",
        ),
        (request({"role": "user", "content": []}), "List should have at least 1 item"),
        (request(USER, ANSWER), "must be a response to a preceding message"),
        (request(USER, assistant(A)), f"without a response: {A.id}"),
        (
            request(USER, assistant(A, B), ANSWER, USER),
            f"messages.3: tool_call_ids without a response: {B.id}",
        ),
        (request(USER, assistant(A), ANSWER, ANSWER), "must be a response"),
        (request(USER, assistant(A, A), ANSWER), "used twice"),
        (request(USER, assistant(Call("click", "{oops", A.id)), ANSWER), "arguments: Invalid JSON"),
        (
            request(USER, assistant(Call("click it", "{}", A.id)), ANSWER),
            "function.name: String should match pattern",
        ),
        (
            request({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}),
            "image_url.url: String should match pattern",
        ),
        (request({"role": "system", "content": [{"type": "image_url"}]}), "type: Input should be 'text'"),
        (request(USER, temprature=1), "Unrecognized request argument supplied: temprature"),
        (request(USER, tools=[]), "tools: List should have at least 1 item"),
        (
            request(USER, tools=[{"type": "function", "function": {"name": "a b"}}]),
            "function.name: String should match pattern",
        ),
        (request(USER, tool_choice="auto"), "only allowed when 'tools'"),
        (request(USER, stream_options={}), "only allowed when 'stream'"),
        (request(USER, max_tokens=1, max_completion_tokens=1), "exclude each other"),
        (request(USER, response_format={"type": "json_schema", "json_schema": {}}), "response_format"),
        (request(USER, response_format={"type": "json"}), "response_format: Input tag 'json'"),
        (
            request(USER, response_format=json_schema({"type": "string"})),
            "schema.type: Input should be 'object'",
        ),
        (request(USER, response_format=json_schema(LOOSE, strict=True)), "schema.b: strict mode needs add"),
        (
            request(USER, response_format=json_schema({**LOOSE, "required": ["a"]}, strict=True)),
            "schema: strict mode needs each key",
        ),
    ]
    for body, told in cases:
        with subtests.test(body=body, told=told):
            assert told in refusal(body)


def test_a_whole_conversation_is_taken() -> None:
    """Pictures, parallel calls and their answers in any order are within the protocol."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,AAAA"}}
    text = {"type": "text", "text": "the page"}
    second = {"role": "tool", "tool_call_id": B.id, "content": "ok"}
    user = {"role": "user", "content": [text, picture]}
    whole = request({"role": "system", "content": "s"}, USER, assistant(A, B), second, ANSWER, user)
    with ScriptedModel(["fine"]) as model:
        assert post(model, whole)[0] == 200
        model.assert_finished()


def test_other_paths_are_not_there() -> None:
    """A wrong base URL is found out; the list of models is there."""
    with ScriptedModel([]) as model:
        assert ask(model, "POST", "/completions", {})[0] == 404
        assert ask(model, "GET", "/nothing")[0] == 404
        assert json.loads(ask(model, "GET", "/models")[2])["data"][0]["id"] == "scripted"


@tool
async def press_it(
    window: Window,
    target: Annotated[str, Field(description="What to press.")],
    count: int = 1,
    how: Literal["left", "right"] | None = None,
) -> str:
    """Press something. It may be pressed more than once."""
    del window
    return f"pressed {target} {count} {how}"


def test_a_tool_that_keeps_the_contract_passes() -> None:
    """Strings, numbers, choices and optional ones are flat; two sentences are allowed."""
    check_tool(press_it)


def test_each_breach_of_the_contract_is_named() -> None:
    """Name, description, nesting and unknown arguments are all told at once."""

    class Point(BaseModel):
        x: int

    class Arguments(BaseModel):
        thePoint: Point  # noqa: N815 the fault to be found
        names: dict[str, str]

    async def body(window: Window) -> str:
        del window
        return ""

    bad = Tool("pressIt", "One. Two. Three.", Arguments, body)
    with pytest.raises(AssertionError, match="tool 'pressIt'") as caught:
        check_tool(bad)
    for told in (
        "'pressIt' is not snake_case",
        "3 sentences",
        "unknown arguments are not refused",
        "refers to other schemas",
        "'thePoint' is not snake_case",
        "'thePoint' is nested",
        "'names' is nested",
    ):
        assert told in str(caught.value)
    with pytest.raises(AssertionError, match="0 sentences"):
        check_tool(Tool("press", "", Arguments, body))
