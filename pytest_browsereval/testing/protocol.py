"""The rules of the chat-completions protocol that real servers enforce."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_PICTURE = re.compile(r"https?://|data:image/(png|jpeg|webp|gif);base64,")

_PARAMETERS = frozenset(
    {
        *("model", "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format"),
        *("temperature", "top_p", "n", "stop", "seed", "max_tokens", "max_completion_tokens"),
        *("presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs"),
        *("reasoning_effort", "verbosity", "stream", "stream_options", "user", "store", "metadata"),
        *("service_tier", "modalities"),
    }
)


class Refused(ValueError):
    """A real server would answer 400; the message says why."""


def check_request(body: Any) -> None:
    """Check a request as a real server does.

    Raises:
        Refused: it breaks the protocol.
    """
    if not isinstance(body, Mapping):
        raise Refused("the request is not a JSON object")
    if unknown := sorted(set(body) - _PARAMETERS):
        raise Refused(f"Unrecognized request argument supplied: {', '.join(unknown)}")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise Refused("you must provide a model parameter")
    _check_messages(body.get("messages"))
    _check_tools(body)
    _check_options(body)


def _check_messages(messages: Any) -> None:
    if not isinstance(messages, list) or not messages:
        raise Refused("'messages' must be a list with at least one message")
    unanswered: list[str] = []
    used: set[str] = set()
    for number, message in enumerate(messages):
        role = message.get("role") if isinstance(message, Mapping) else None
        if not isinstance(role, str) or role not in _ROLES:
            raise Refused(f"messages[{number}].role {role!r} is not one of {', '.join(_ROLES)}")
        if role == "tool":
            _check_answer(number, message, unanswered)
        elif unanswered:
            raise Refused(f"messages[{number}]: tool_call_ids without a response: {', '.join(unanswered)}")
        try:
            _ROLES[role](message)
        except Refused as problem:
            raise Refused(f"messages[{number}]{problem}") from None
        if role == "assistant":
            unanswered = [call["id"] for call in message.get("tool_calls") or ()]
            if twice := used & set(unanswered):
                raise Refused(f"messages[{number}].tool_calls: ids are used twice: {', '.join(twice)}")
            used.update(unanswered)
    if unanswered:
        raise Refused(f"tool_call_ids without a response: {', '.join(unanswered)}")


def _check_answer(number: int, message: Mapping[str, Any], unanswered: list[str]) -> None:
    given = message.get("tool_call_id")
    if given not in unanswered:
        raise Refused(
            f"messages[{number}]: messages with role 'tool' must be a response to a preceding message "
            f"with 'tool_calls'; {given!r} is none of them"
        )
    unanswered.remove(given)


def _check_content(message: Mapping[str, Any], *, images: bool = False) -> None:
    content = message.get("content")
    if content == []:
        raise Refused(".content is empty")
    for part in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind == "text":
            if not isinstance(part.get("text"), str):
                raise Refused(".content is not a text")
        elif kind == "image_url" and images:
            holder = part.get("image_url")
            url = holder.get("url") if isinstance(holder, Mapping) else None
            if not isinstance(url, str) or not _PICTURE.match(url):
                raise Refused(".content: image_url.url is neither an address nor a picture")
        else:
            raise Refused(f".content: parts of type {kind!r} are not allowed here")


def _check_assistant(message: Mapping[str, Any]) -> None:
    calls = message.get("tool_calls")
    if calls is None or message.get("content") is not None:
        _check_content(message)
    if calls is None:
        return
    if not isinstance(calls, list) or not calls:
        raise Refused(".tool_calls is empty")
    for call in calls:
        function = call.get("function") or {}
        if not isinstance(call.get("id"), str) or call.get("type") != "function":
            raise Refused(".tool_calls: a call needs an id and the type 'function'")
        _check_name(function.get("name"), ".tool_calls")
        if not _is_json_object(function.get("arguments")):
            raise Refused(".tool_calls: the arguments are not a JSON object in a string")
    if len({call["id"] for call in calls}) < len(calls):
        raise Refused(".tool_calls: ids are used twice")


_ROLES: dict[str, Callable[[Mapping[str, Any]], None]] = {
    "system": _check_content,
    "developer": _check_content,
    "user": partial(_check_content, images=True),
    "assistant": _check_assistant,
    "tool": _check_content,
}


def _is_json_object(text: Any) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _check_name(name: Any, where: str) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Refused(f"{where}: the name {name!r} does not match {_NAME.pattern}")


def _check_tools(body: Mapping[str, Any]) -> None:
    tools = body.get("tools")
    if tools is None:
        if "tool_choice" in body:
            raise Refused("'tool_choice' is only allowed when 'tools' are specified")
        return
    if not isinstance(tools, list) or not tools:
        raise Refused("'tools' is empty")
    names = []
    for tool in tools:
        function = tool.get("function") if isinstance(tool, Mapping) else None
        if not isinstance(function, Mapping) or tool.get("type") != "function":
            raise Refused("tools: each needs the type 'function' and a function")
        _check_name(function.get("name"), "tools")
        if function.get("parameters", {"type": "object"}).get("type") != "object":
            raise Refused(f"tools: the parameters of {function['name']} are not an object's schema")
        names.append(function["name"])
    if len(set(names)) < len(names):
        raise Refused("tools: names are used twice")


def _check_options(body: Mapping[str, Any]) -> None:
    if "stream_options" in body and not body.get("stream"):
        raise Refused("'stream_options' is only allowed when 'stream' is enabled")
    if "max_tokens" in body and "max_completion_tokens" in body:
        raise Refused("'max_tokens' and 'max_completion_tokens' exclude each other")
    if "response_format" in body:
        _check_format(body["response_format"])


def _check_format(wanted: Any) -> None:
    kind = wanted.get("type") if isinstance(wanted, Mapping) else None
    if kind not in ("text", "json_object", "json_schema"):
        raise Refused(f"response_format: the type {kind!r} is none of text, json_object, json_schema")
    if kind != "json_schema":
        return
    given = wanted.get("json_schema")
    _check_name(given.get("name") if isinstance(given, Mapping) else None, "response_format")
    schema = given.get("schema")
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        raise Refused("response_format: the schema is not an object's")
    if given.get("strict") and (fault := _loose_part(schema, "schema")):
        raise Refused(f"response_format: {fault}")


def _loose_part(schema: Any, where: str) -> str | None:
    """Return what of a schema strict mode refuses: each object names all of its keys, and no others."""
    if isinstance(schema, Mapping):
        keys = schema.get("properties")
        if isinstance(keys, Mapping):
            if schema.get("additionalProperties") is not False:
                return f"{where}: strict mode needs additionalProperties: false"
            if set(keys) != set(schema.get("required") or ()):
                return f"{where}: strict mode needs each key in 'required'"
        inner = {**schema, **(keys or {})} if isinstance(keys, Mapping) else schema
        parts = [(part, f"{where}.{name}") for name, part in inner.items() if name != "properties"]
    else:
        parts = [(part, where) for part in schema] if isinstance(schema, list) else []
    return next((fault for part, place in parts if (fault := _loose_part(part, place))), None)
