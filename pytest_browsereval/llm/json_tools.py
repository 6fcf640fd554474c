"""Tool calls as JSON texts, for models and servers that know no tool calling of their own.

A request is rewritten before it is sent: the tools become a text and a JSON schema, the calls and results
of the history become plain texts. A reply is read back as a tool call. One reply makes one call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_browsereval.llm.completion import CALL_CUT, CUT, Completion, ToolRequest
from pytest_browsereval.llm.reasoning import unfence

FORM = '{"tool": NAME, "arguments": {NAME: VALUE}}'

RULE = f"""\
You call tools. Each of your replies is one JSON object and nothing else: {FORM}
It calls one tool; the next message tells its result. The tools:
"""

NO_CALL = f"Your reply was not one JSON object of the form {FORM}, and nothing else."

UNREADABLE = "unreadable"
"""What a reply is recorded to have called when no tool's name can be read in it."""

_KEPT = ("type", "enum", "const", "required", "additionalProperties")
"""Keywords that every grammar knows; bounds and patterns are checked when the tool is called."""

_NAMED = re.compile(r'\s*\{\s*"tool"\s*:\s*"(\w{1,64})"')

Message = dict[str, Any]
Functions = Sequence[Mapping[str, Any]]


# -- what is sent


def as_texts(request: Mapping[str, Any], *, has_schema: bool) -> Message:
    """Return a request in which nothing but texts and pictures is left.

    Args:
        request: as chat completions define it, with tools, calls and their results.
        has_schema: True if the server can be given a schema that the reply has to follow.
    """
    rest = {key: value for key, value in request.items() if key not in ("tools", "tool_choice")}
    functions = _functions(request)
    if functions and has_schema:
        forms = [_form(function) for function in functions]
        schema = forms[0] if len(forms) == 1 else {"type": "object", "anyOf": forms}
        rest["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "tool_call", "schema": schema},
        }
    return {**rest, "messages": _plain_messages(request["messages"], functions)}


def _functions(request: Mapping[str, Any]) -> Functions:
    """Return the tools that may be called."""
    choice = request.get("tool_choice")
    if choice == "none":
        return []
    functions = [tool["function"] for tool in request.get("tools", ())]
    named = choice["function"]["name"] if isinstance(choice, Mapping) else None
    return [function for function in functions if named in (None, function["name"])]


def _plain_messages(messages: Sequence[Mapping[str, Any]], functions: Functions) -> list[Message]:
    names: dict[str, str] = {}
    plain: list[Message] = []
    for message in messages:
        calls = message.get("tool_calls") or ()
        names.update({call["id"]: call["function"]["name"] for call in calls})
        _append(plain, _plain(message, names))
    if not functions:
        return plain
    text = RULE + "\n".join(_describe_tool(function) for function in functions)
    if not plain or plain[0]["role"] != "system":
        return [{"role": "system", "content": text}, *plain]
    # In front: there it is the same for all attempts, and servers need not read it again.
    return [{**plain[0], "content": f"{text}\n\n{plain[0]['content']}"}, *plain[1:]]


def _form(function: Mapping[str, Any]) -> dict[str, Any]:
    parameters = function.get("parameters") or {}
    # References lead to places that are elsewhere in this schema.
    rules = {} if "$ref" in json.dumps(parameters) else _grammar(parameters)
    return {
        "type": "object",
        "properties": {"tool": {"const": function["name"]}, "arguments": {"type": "object", **rules}},
        "required": ["tool", "arguments"],
        "additionalProperties": False,
    }


def _grammar(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without what only explains or bounds."""
    kept = {key: schema[key] for key in _KEPT if key in schema}
    if isinstance(schema.get("properties"), Mapping):
        kept["properties"] = {name: _grammar(field) for name, field in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            kept[key] = _grammar(schema[key])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            kept["anyOf"] = [_grammar(option) for option in schema[key]]
    return kept


def _describe_tool(function: Mapping[str, Any]) -> str:
    """Return a tool in a line, and a line for each argument that needs one."""
    parameters = function.get("parameters") or {}
    fields = parameters.get("properties") or {}
    required = parameters.get("required") or ()
    listed = ", ".join(f"{name}{'' if name in required else '?'}: {_type(fields[name])}" for name in fields)
    lines = [f"- {function['name']}({listed}): {function.get('description') or ''}".rstrip(": ")]
    lines += [f"  {name}: {text}" for name in fields if (text := fields[name].get("description"))]
    return "\n".join(lines)


def _type(field: Mapping[str, Any]) -> str:
    if "enum" in field or "const" in field:
        return "|".join(json.dumps(value) for value in field.get("enum") or [field["const"]])
    if "anyOf" in field or "oneOf" in field:
        return "|".join(_type(option) for option in field.get("anyOf") or field["oneOf"])
    kind = field.get("type", "any")
    return "|".join(map(str, kind)) if isinstance(kind, list) else str(kind)


def _plain(message: Mapping[str, Any], names: Mapping[str, str]) -> Message:
    if message["role"] == "tool":
        name = names.get(message["tool_call_id"], "the tool")
        return {"role": "user", "content": f"Result of {name}: {message['content']}"}
    calls = message.get("tool_calls") or ()
    rest = {key: value for key, value in message.items() if key != "tool_calls"}
    if calls and not rest.get("content"):
        made = [(call["function"]["name"], call["function"]["arguments"]) for call in calls]
        texts = (json.dumps({"tool": name, "arguments": json.loads(given)}) for name, given in made)
        rest["content"] = "\n".join(texts)
    return rest


def _append(plain: list[Message], message: Message) -> None:
    """Add a message; what the user says twice in a row becomes one, as many chat templates ask for."""
    if plain and plain[-1]["role"] == message["role"] == "user":
        before, after = plain[-1]["content"], message["content"]
        is_text = isinstance(before, str) and isinstance(after, str)
        content = f"{before}\n\n{after}" if is_text else [*_parts(before), *_parts(after)]
        plain[-1] = {**plain[-1], "content": content}
    else:
        plain.append(message)


def _parts(content: Any) -> list[Any]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


# -- what comes back


def as_tool_call(reply: Completion, number: int) -> Completion:
    """Return a reply of text as the tool call that it is meant to be; an empty one as it is.

    Args:
        reply: what the model answered.
        number: of the reply in its conversation, which makes the call's id unique there.
    """
    text = reply.text.strip()
    if not text:
        return reply
    request = _request(text, f"call_{number}")
    if reply.finish_reason == CUT:
        request = replace(request, arguments=None, problem=CALL_CUT)
    function = {"name": request.name, "arguments": json.dumps(request.arguments or {})}
    call = {"id": request.id, "type": "function", "function": function}
    message = {**reply.message, "role": "assistant", "content": text, "tool_calls": [call]}
    return replace(reply, text="", tool_calls=(request,), message=message)


def _request(text: str, call_id: str) -> ToolRequest:
    try:
        value = json.loads(unfence(text))
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict) and value.keys() <= {"tool", "arguments"}:
        name, arguments = value.get("tool"), value.get("arguments", {})
        if isinstance(name, str) and name and isinstance(arguments, dict):
            return ToolRequest(id=call_id, name=name, arguments=arguments, raw=text)
    named = _NAMED.match(text)
    name = named[1] if named else UNREADABLE
    return ToolRequest(id=call_id, name=name, arguments=None, raw=text, problem=NO_CALL)
