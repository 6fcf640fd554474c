"""Requests and replies as Anthropic's Messages API has them, with prompt caching switched on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_browsereval.features.shared.reply_parts import CALL, TEXT, make_body, parts_of, put_in_order
from pytest_browsereval.llm.api import Api, Body
from pytest_browsereval.llm.stream import NO_END, merge_usage, read_events
from pytest_browsereval.llm.usage import count_tokens

VERSION = "2023-06-01"
"""Newer ones refuse a temperature, and other servers do not know them."""

MAX_TOKENS = 16_000
"""Of a reply, where the config names no limit: the API asks for one."""

THOUGHTS = ("thinking", "redacted_thinking")

STRIDE = 15
"""Blocks between two marks: the server looks for what it has cached up to 20 blocks before a mark."""

BOUNDS = frozenset(
    {
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "pattern"),
        *("minLength", "maxLength", "minItems", "maxItems", "uniqueItems"),
    }
)
"""Keywords of a schema that are refused in one for replies."""

CACHED = {"cache_control": {"type": "ephemeral"}}
"""The mark. What stands before it is kept for five minutes from its last use."""

STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""By the type of an error: in the middle of a stream it comes without a status."""

PIECES = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
    "input_json_delta": ("partial_json", "arguments"),
}
"""By the type of a piece: where its text stands, and what it adds to."""


class Messages(Api):
    """Anthropic's Messages; https://platform.claude.com/docs/en/api/messages."""

    path = "/messages"

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the key in Anthropic's header, and for other servers in the usual one as well."""
        own = {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})}
        return own if self._config.provider == "anthropic" else {**own, **super().headers(key)}

    # -- what is sent

    def write(self, request: Mapping[str, Any]) -> Body:
        """Return what is sent for a chat-completions request."""
        config, system, turns = self._config, list[Body](), list[Body]()
        for message in request["messages"]:
            if message["role"] in ("system", "developer"):
                system += _write_parts(message["content"])
            else:
                _add(turns, message)
        tools = [_write_tool(tool["function"]) for tool in request.get("tools", ())]
        _mark_cached(tools, system, turns)
        wanted = {
            "model": request["model"],
            "max_tokens": config.max_output_tokens or MAX_TOKENS,
            "system": system,
            "messages": turns,
            "tools": tools,
            "tool_choice": self._write_choice(request.get("tool_choice")),
            "temperature": config.temperature,
            "output_config": self._write_output(request.get("response_format") or {}),
            "thinking": self._write_thinking(),
            "stream": config.stream or None,
        }
        return {name: value for name, value in wanted.items() if value not in (None, [], {})}

    def _write_output(self, form: Mapping[str, Any]) -> Body:
        effort = self._config.reasoning_effort
        output: Body = {} if effort in (None, "none") else {"effort": effort}
        # There is no mode of JSON without a schema: prompts ask for JSON themselves.
        if form.get("type") == "json_schema":
            output["format"] = {"type": "json_schema", "schema": _drop_bounds(form["json_schema"]["schema"])}
        return output

    def _write_thinking(self) -> Body:
        effort = self._config.reasoning_effort
        if effort in (None, "none"):
            return {"type": "disabled"} if effort else {}
        return {"type": "adaptive", **({"display": "summarized"} if self._config.reasoning_summary else {})}

    def _write_choice(self, choice: Any) -> Body:
        if choice in (None, "none", "auto"):
            return {"type": choice} if choice else {}
        if self._config.reasoning_effort not in (None, "none"):
            return {"type": "auto"}  # a model that thinks cannot be made to call
        if choice == "required":
            return {"type": "any"}
        return {"type": "tool", "name": choice["function"]["name"]}

    # -- what comes back

    def read(self, reply: Any) -> Any:
        """Return the chat-completions body of a reply; one that is none stays as it is."""
        if not isinstance(reply, Mapping):
            return reply
        usage = _read_usage(reply.get("usage"))
        if error := reply.get("error"):
            status = STATUSES.get(str(error.get("type"))) if isinstance(error, Mapping) else None
            return {"error": {**error, "code": status} if status else error, "usage": usage}
        blocks = reply.get("content")
        if not isinstance(blocks, list):
            return reply
        calls, order = list[tuple[Any, Any, str]](), list[Mapping[str, Any]]()
        for block in blocks:
            if block["type"] == "tool_use":
                calls.append(
                    (block["id"], block["name"], block.get("arguments") or json.dumps(block["input"]))
                )
                order.append({"type": CALL, "id": block["id"]})
            elif block["type"] in THOUGHTS:
                order.append(block)
            elif block["type"] == "text":
                order.append(TEXT)
        details, reason = reply.get("stop_details"), reply.get("stop_reason")
        if isinstance(details, Mapping) and details.get("category"):
            reason = f"{reason}: {details['category']}"
        body = make_body(
            "".join(block["text"] for block in blocks if block["type"] == "text"),
            calls,
            order,
            reason=reason,
            usage=usage,
            reasoning="\n".join(block["thinking"] for block in blocks if block["type"] == "thinking"),
        )
        return {**body, "id": reply.get("id"), "model": reply.get("model")}

    def read_stream(self, text: str) -> Any:
        """Return the chat-completions body of a streamed reply."""
        reply, usage = Body(), Body()
        blocks: dict[int, Body] = {}
        pieces: dict[tuple[int, str], list[str]] = {}
        for event in read_events(text):
            kind = event.get("type")
            if kind == "message_start":
                reply |= event["message"]
                merge_usage(usage, event["message"].get("usage"))
            elif kind == "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            elif kind == "content_block_delta":
                if known := PIECES.get(event["delta"]["type"]):
                    pieces.setdefault((event["index"], known[1]), []).append(event["delta"][known[0]])
            elif kind == "message_delta":
                reply |= {name: value for name, value in event["delta"].items() if value is not None}
                merge_usage(usage, event.get("usage"))
            elif event.get("error"):
                reply["error"] = event["error"]
        if not reply.get("stop_reason"):
            reply.setdefault("error", NO_END)
        for (index, name), texts in pieces.items():
            blocks[index][name] = blocks[index].get(name, "") + "".join(texts)
        return self.read({**reply, "usage": usage, "content": [blocks[index] for index in sorted(blocks)]})


# -- parts


def _add(turns: list[Body], message: Mapping[str, Any]) -> None:
    """Add a message; what the user says after results of tools is one turn with them."""
    role = "assistant" if message["role"] == "assistant" else "user"
    blocks = _write_parts(message.get("content"))
    if message["role"] == "tool":
        blocks = [{"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": blocks}]
    elif role == "assistant":
        calls = {call["id"]: _write_call(call) for call in message.get("tool_calls") or ()}
        blocks = list(put_in_order(message, THOUGHTS, blocks, calls))
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"] += blocks
    elif blocks:
        turns.append({"role": role, "content": blocks})


def _write_call(call: Mapping[str, Any]) -> Body:
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    return {"type": "tool_use", "id": call["id"], "name": name, "input": json.loads(arguments)}


def _write_parts(content: Any) -> list[Body]:
    return [
        {"type": "text", "text": part["text"]}
        if part["type"] == "text"
        else {"type": "image", "source": _write_source(part["image_url"]["url"])}
        for part in parts_of(content)
    ]


def _write_source(url: str) -> Body:
    if not url.startswith("data:"):
        return {"type": "url", "url": url}
    head, _, data = url.removeprefix("data:").partition(";base64,")
    return {"type": "base64", "media_type": head, "data": data}


def _drop_bounds(schema: Any) -> Any:
    """Return a schema without its bounds, which are checked where the reply is read."""
    if isinstance(schema, list):
        return [_drop_bounds(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    # A property may be named like a bound: its value is a schema.
    kept = {key: part for key, part in schema.items() if key not in BOUNDS or isinstance(part, Mapping)}
    return {key: _drop_bounds(part) for key, part in kept.items()}


def _write_tool(function: Mapping[str, Any]) -> Body:
    told = {"description": function["description"]} if function.get("description") else {}
    schema = function.get("parameters") or {"type": "object"}
    return {"name": function["name"], **told, "input_schema": schema}


def _mark_cached(tools: list[Body], system: list[Body], turns: list[Body]) -> None:
    """Mark where the server may cache: tools are the same in all attempts, system and turns in one."""
    # What is asked once, as by a judge, is not worth the price of writing it.
    if not tools and all(turn["role"] == "user" for turn in turns):
        return
    blocks = [block for turn in turns for block in turn["content"] if block["type"] not in THOUGHTS]
    for block in (*tools[-1:], *system[-1:], *blocks[-1:], *blocks[-1 - STRIDE :][:1]):
        block.update(CACHED)


def _read_usage(usage: Any) -> Body | None:
    """Return the tokens with those of the cache among the input, as others count them."""
    if not isinstance(usage, Mapping):
        return None
    read, written = (count_tokens(usage.get(f"cache_{kind}_input_tokens")) for kind in ("read", "creation"))
    return {
        "prompt_tokens": count_tokens(usage.get("input_tokens")) + read + written,
        "completion_tokens": count_tokens(usage.get("output_tokens")),
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
    }
