from __future__ import annotations

import http.client
import json
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import pytest
from pydantic import BaseModel, Field

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.testing import Call, ModelRequest, ScriptedModel, call, check_tool, says
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


def test_each_mistake_of_a_test_is_told(subtests: pytest.Subtests) -> None:
    """A request too many, a function that raises and a wrong path are refused; an unasked reply is told."""

    def broken(asked: ModelRequest) -> str:
        return str(1 / (len(asked.messages) - 1))

    for script, told in ((["one"], "the script is over"), (broken, "the script raised ZeroDivisionError")):
        with subtests.test(told=told), ScriptedModel(script) as model:
            replies = [post(model, request(USER)) for _ in range(2)]
            assert (replies[-1][0], told in replies[-1][2]) == (400, True)
            with pytest.raises(AssertionError, match=told):
                model.assert_finished()
    with ScriptedModel(["one", "two"]) as model:
        post(model, request(USER))
        assert ask(model, "POST", "/completions", {})[0] == ask(model, "GET", "/nothing")[0] == 404
        assert json.loads(ask(model, "GET", "/models")[2])["data"][0]["id"] == "scripted"
    with pytest.raises(AssertionError, match="1 replies"):
        model.assert_finished()


def test_a_stream_comes_in_pieces_and_ends() -> None:
    """Pieces of the text, the usage if wanted, and the end mark; results of calls may come in any order."""
    second = {"role": "tool", "tool_call_id": B.id, "content": "ok"}
    options = {"stream": True, "stream_options": {"include_usage": True}}
    wanted = request(USER, assistant(A, B), second, ANSWER, **options)
    with ScriptedModel([says("a text in several pieces").costing(3, 4)]) as model:
        _, headers, text = post(model, wanted, **{"X-Trace": "7"})
    assert model.requests[0].headers["x-trace"] == "7"
    assert headers["Content-Type"] == "text/event-stream"
    events = [line.removeprefix("data: ") for line in text.splitlines() if line]
    assert events[-1] == "[DONE]"
    chunks = [json.loads(event) for event in events[:-1]]
    pieces = [choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"]]
    assert "".join(pieces) == "a text in several pieces"
    assert len([piece for piece in pieces if piece]) > 1
    assert chunks[-1]["usage"]["completion_tokens"] == 4


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
    wrong_name = {"type": "function", "function": {"name": "a b"}}
    wrong_picture = {"type": "image_url", "image_url": {"url": "x"}}
    optional = {**LOOSE, "required": ["a"]}
    cases: list[tuple[Any, str]] = [
        ("not json", "model: Field required"),
        (request(), "messages: List should have at least 1 item"),
        (request({"role": "robot", "content": "x"}), "messages.0: Input tag 'robot'"),
        (request({"role": "user", "content": []}), "List should have at least 1 item"),
        (request(USER, ANSWER), "must be a response to a preceding message"),
        (request(USER, assistant(A)), f"without a response: {A.id}"),
        (
            request(USER, assistant(A, B), ANSWER, USER),
            f"messages.3: tool_call_ids without a response: {B.id}",
        ),
        (request(USER, assistant(A, A), ANSWER), "used twice"),
        (request(USER, assistant(Call("click", "{oops", A.id)), ANSWER), "arguments: Invalid JSON"),
        (request(USER, assistant(Call("a b", "{}", A.id)), ANSWER), "function.name: String should match"),
        (request({"role": "user", "content": [wrong_picture]}), "image_url.url: String should match pattern"),
        (request({"role": "system", "content": [{"type": "image_url"}]}), "type: Input should be 'text'"),
        (request(USER, temprature=1), "Unrecognized request argument supplied: temprature"),
        (request(USER, tools=[]), "tools: List should have at least 1 item"),
        (request(USER, tools=[wrong_name]), "function.name: String should match pattern"),
        (request(USER, tool_choice="auto"), "only allowed when 'tools'"),
        (request(USER, stream_options={}), "only allowed when 'stream'"),
        (request(USER, max_tokens=1, max_completion_tokens=1), "exclude each other"),
        (request(USER, response_format={"type": "json"}), "response_format: Input tag 'json'"),
        (
            request(USER, response_format=json_schema({"type": "string"})),
            "schema.type: Input should be 'object'",
        ),
        (request(USER, response_format=json_schema(LOOSE, strict=True)), "schema.b: strict mode needs add"),
        (
            request(USER, response_format=json_schema(optional, strict=True)),
            "schema: strict mode needs each key",
        ),
    ]
    for body, told in cases:
        with subtests.test(body=body, told=told):
            assert told in refusal(body)


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


def test_each_breach_of_the_contract_is_named() -> None:
    """Name, description, nesting and unknown arguments are all told at once; a tool that keeps it passes."""
    check_tool(press_it)

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
    breaches = ("'pressIt' is not snake_case", "3 sentences", "unknown arguments are not refused")
    nesting = ("refers to other schemas", "'thePoint' is not snake_case", "'thePoint' is nested")
    for told in (*breaches, *nesting, "'names' is nested"):
        assert told in str(caught.value)
    with pytest.raises(AssertionError, match="0 sentences"):
        check_tool(Tool("press", "", Arguments, body))
