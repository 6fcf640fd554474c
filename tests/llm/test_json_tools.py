from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.llm.client import ChatClient
from pytest_browsereval.llm.completion import Completion
from pytest_browsereval.llm.config import LLMConfig
from pytest_browsereval.model.messages import ToolCallMessage
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, call, says
from tests.agents.desk import Desk, solve

CLICK = {
    "type": "function",
    "function": {
        "name": "click",
        "description": "Click an element.",
        "parameters": {
            "type": "object",
            "properties": {
                "target": {"type": "string", "description": "A ref.", "maxLength": 100_000},
                "button": {"enum": ["left", "right"], "type": "string", "default": "left"},
            },
            "required": ["target"],
            "additionalProperties": False,
        },
    },
}
ANSWER = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}
DONE = {"type": "function", "function": {"name": "done", "parameters": ANSWER}}
HELLO = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "hello"}]


def text_call(tool: str, **arguments: Any) -> Reply:
    return says(json.dumps({"tool": tool, "arguments": arguments}))


def complete(model: ScriptedModel, messages: list[dict[str, Any]], **more: Any) -> Completion:
    block = {"model": "small", "base_url": model.base_url, "tool_calling": "json_schema"}
    config = LLMConfig.model_validate({**block, **more.pop("block", {})})

    async def course() -> Completion:
        client = ChatClient(config)
        try:
            return await client.complete(messages, **{"tools": [CLICK, DONE], **more})
        finally:
            await client.close()

    return asyncio.run(course())


def asked(messages: list[dict[str, Any]] = HELLO, **more: Any) -> ModelRequest:
    with ScriptedModel([text_call("click", target="e1")]) as model:
        complete(model, messages, **more)
        model.assert_finished()
    return model.requests[0]


# -- what is sent


def test_tools_become_a_schema_of_calls() -> None:
    """Each tool is one form with its own arguments; what grammars choke on is left out."""
    body = asked().body
    assert set(body) == {"model", "messages", "response_format"}
    schema = body["response_format"]["json_schema"]["schema"]
    click, done = schema["anyOf"]
    button = {"type": "string", "enum": ["left", "right"]}
    assert click == {
        "type": "object",
        "properties": {
            "tool": {"const": "click"},
            "arguments": {
                "type": "object",
                "properties": {"target": {"type": "string"}, "button": button},
                "required": ["target"],
                "additionalProperties": False,
            },
        },
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }
    assert done["properties"]["tool"] == {"const": "done"}


def test_a_named_tool_is_the_only_one() -> None:
    """``tool_choice`` with a name leaves that form and that description."""
    choice = {"type": "function", "function": {"name": "done"}}
    request = asked(tool_choice=choice)
    schema = request.body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["tool"] == {"const": "done"}
    assert "- click(" not in request.text


def test_tools_of_others_are_taken_as_they_are() -> None:
    """Schemas of servers: no parameters at all, lists of types, nested objects and lists."""
    parameters = {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"], "minLength": 3},
            "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "integer"}}}},
            "d": {"oneOf": [{"type": "string", "pattern": "x"}, {"const": 7}]},
            "e": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 9}},
        },
    }
    tools = [
        {"type": "function", "function": {"name": "bare"}},
        {"type": "function", "function": {"name": "odd", "parameters": parameters}},
    ]
    request = asked(tools=tools)
    bare, odd = request.body["response_format"]["json_schema"]["schema"]["anyOf"]
    assert bare["properties"]["arguments"] == {"type": "object"}
    assert odd["properties"]["arguments"]["properties"] == {
        "a": {"type": ["string", "null"]},
        "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "integer"}}}},
        "d": {"anyOf": [{"type": "string"}, {"const": 7}]},
        "e": {"type": "object", "additionalProperties": {"type": "string"}},
    }
    assert "- bare()\n- odd(a?: string|null, b?: array, d?: string|7, e?: object)" in request.text


def test_tools_are_told_in_front_of_the_system_text() -> None:
    """One line for a tool, one for each argument with a description; the rest of the system text follows."""
    system, user = asked().messages
    assert system["content"].endswith(
        '- click(target: string, button?: "left"|"right"): Click an element.\n  target: A ref.\n'
        "- done(answer: string)\n\nBe kind."
    )
    assert user == HELLO[1]


@pytest.mark.parametrize("more", [{"tool_choice": "none"}, {"tools": []}])
def test_where_no_tool_may_be_called_a_text_is_a_text(more: dict[str, Any]) -> None:
    """Neither schema nor rule is sent, and the reply is not read as a call."""
    with ScriptedModel(["Good day."]) as model:
        assert complete(model, HELLO, **more).text == "Good day."
    assert set(model.requests[0].body) == {"model", "messages"}
    assert model.requests[0].messages == HELLO


def test_a_history_of_calls_becomes_texts() -> None:
    """Calls and results are plain assistant and user texts; what the user says twice in a row is one text."""
    wanted = call("click", target="e1")
    made = {"name": wanted.name, "arguments": wanted.arguments}
    made_calls = [{"id": wanted.id, "type": "function", "function": made}]
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    history: list[dict[str, Any]] = [
        *HELLO,
        {"role": "assistant", "content": None, "tool_calls": made_calls},
        {"role": "tool", "tool_call_id": wanted.id, "content": "ok\nClicked."},
        {"role": "user", "content": "Go on."},
        {"role": "user", "content": [picture]},
    ]
    _, _, called, result = asked(history).messages
    assert called == {"role": "assistant", "content": '{"tool": "click", "arguments": {"target": "e1"}}'}
    assert result["role"] == "user"
    assert result["content"] == [{"type": "text", "text": "Result of click: ok\nClicked.\n\nGo on."}, picture]


def test_the_provider_decides_unless_told_otherwise() -> None:
    """``auto`` is what the provider supports; a provider without schemas is told the form only."""
    with ScriptedModel(lambda _: text_call("done", answer="x")) as model:
        native = complete(model, HELLO, block={"tool_calling": "auto"})
        plain = complete(model, HELLO, block={"provider": "moonshot", "api_key": "none"})
    assert (native.tool_calls, model.requests[0].tool_names) == ((), ["click", "done"])
    assert plain.tool_calls[0].arguments == {"answer": "x"}
    assert set(model.requests[1].body) == {"model", "messages"}
    assert "one JSON object and nothing else" in model.requests[1].text


# -- what comes back


@pytest.mark.parametrize(
    "text",
    [
        '{"tool": "click", "arguments": {"target": "e1"}}',
        ' \n{"tool":"click","arguments":{"target":"e1"}}\n',
        '```json\n{"tool": "click", "arguments": {"target": "e1"}}\n```',
    ],
    ids=["plain", "spaces", "fenced"],
)
def test_a_reply_is_read_as_a_call(text: str) -> None:
    """Tool and arguments come back as native calls do, with usage, and can be sent again."""
    with ScriptedModel([says(text).costing(30, 12), text_call("done", answer="x")]) as model:
        first = complete(model, HELLO)
        (made,) = first.tool_calls
        result = {"role": "tool", "tool_call_id": made.id, "content": "ok"}
        second = complete(model, [*HELLO, first.message, result])
        model.assert_finished()
    assert (made.name, made.arguments, first.text) == ("click", {"target": "e1"}, "")
    assert (first.usage.input_tokens, first.usage.output_tokens) == (30, 12)
    assert second.tool_calls[0].id != made.id
    assert [message["content"] for message in model.requests[1].messages[2:]] == [
        text.strip(),
        "Result of click: ok",
    ]


def test_what_is_no_call_is_told(subtests: pytest.Subtests) -> None:
    """Nothing is guessed: such a reply is a call that cannot be made, with the reason for the model."""
    cases: list[tuple[str, str]] = [
        ("I would click the button.", "unreadable"),
        ('{"tool": "click", "arguments": {"tar', "click"),
        ('Sure! {"tool": "click", "arguments": {}}', "unreadable"),
        ('[{"tool": "click"}]', "unreadable"),
        ('{"arguments": {"target": "e1"}}', "unreadable"),
        ('{"tool": "click", "arguments": "e1"}', "click"),
        ('{"tool": "click", "target": "e1"}', "click"),
        ("[" * 100_000, "unreadable"),
    ]
    for text, name in cases:
        with subtests.test(text=text, name=name):
            with ScriptedModel([text]) as model:
                reply = complete(model, HELLO)
            (made,) = reply.tool_calls
            assert (made.name, made.arguments, made.raw, reply.text) == (name, None, text, "")
            assert '{"tool": NAME' in made.problem


def test_an_empty_reply_stays_empty() -> None:
    """The agent then asks once more, as it does with native calls."""
    with ScriptedModel([" "]) as model:
        reply = complete(model, HELLO)
    assert (reply.tool_calls, reply.text.strip()) == ((), "")


# -- an agent on such a model


def test_an_agent_works_on_texts_alone(tmp_path: Path) -> None:
    """``single`` clicks and finishes; a broken reply and an unknown tool are recorded and told."""
    script: list[Reply | str] = [
        text_call("click", target="button Buy"),
        says("Now I am done."),
        text_call("clik", target="button Buy"),
        says('{"tool": "click", "arguments": {"target": "butt').because("length"),
        text_call("done", answer="bought"),
    ]
    desk = Desk(tmp_path, tmp_path)
    with ScriptedModel(script) as model:
        assert solve(desk, model, tool_calling="json_schema") == "bought"
        model.assert_finished()
    desk.capture.close()
    assert desk.capture.steps == 4
    assert desk.called == ["click", "unreadable", "clik", "click", "done"]
    recorded = [m for m in desk.capture.messages.messages if isinstance(m, ToolCallMessage)]
    assert recorded[1].params == {"malformed": "Now I am done."}
    told = [request.last_text for request in model.requests]
    assert told[1].startswith("Result of click: ok\n[page ")
    assert told[2].startswith("Result of unreadable: failed\n")
    assert "Your reply was not one JSON object" in told[2]
    assert "unknown tool 'clik'" in told[3]
    assert ": the reply was cut off." in told[4]
