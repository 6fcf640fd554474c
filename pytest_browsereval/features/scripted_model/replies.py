"""Replies of a scripted model: texts, tool calls, and everything that can go wrong."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

# Unique in the process, so that a reply can be used in two conversations.
_ids = itertools.count(1)


@dataclass(frozen=True)
class Call:
    """A tool call of the model."""

    name: str
    arguments: str
    """JSON, as the protocol has it; need not be valid."""
    id: str = field(default_factory=lambda: f"call_{next(_ids)}")


@dataclass(frozen=True)
class Reply:
    """One answer of a scripted model; made by :func:`says`, :func:`calls` and the others here."""

    text: str | None = None
    calls: tuple[Call, ...] = ()
    finish_reason: str | None = None
    """``tool_calls`` or ``stop`` by default."""
    usage: tuple[int, int] | None = (100, 10)
    """Tokens in and out; None leaves them out."""
    cached_tokens: int = 0
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    """The message of an error status."""
    code: str | None = None
    """The code of an error status, ``insufficient_quota`` for example."""
    raw: str | None = None
    """Sent instead of the body that the other fields make."""
    delay_s: float = 0.0
    """How long the server is silent before it answers."""
    is_cut: bool = False
    """True: the connection ends in the middle of the body."""

    def after(self, seconds: float) -> Reply:
        """Return the same reply, sent after so many seconds."""
        return replace(self, delay_s=seconds)

    def cut(self) -> Reply:
        """Return the same reply, cut off in the middle."""
        return replace(self, is_cut=True)

    def costing(self, input_tokens: int, output_tokens: int, *, cached: int = 0) -> Reply:
        """Return the same reply with this usage."""
        return replace(self, usage=(input_tokens, output_tokens), cached_tokens=cached)

    def because(self, finish_reason: str) -> Reply:
        """Return the same reply with this finish reason: ``length``, ``content_filter``, ..."""
        return replace(self, finish_reason=finish_reason)


def call(name: str, /, **arguments: Any) -> Call:
    """Return a tool call: ``call("click", target="e12")``."""
    return Call(name, json.dumps(arguments))


def says(text: str) -> Reply:
    """Return a reply of text."""
    return Reply(text=text)


def calls(*wanted: Call, text: str | None = None) -> Reply:
    """Return a reply that asks for tool calls, in this order: ``calls(call("snapshot"))``."""
    return Reply(text=text, calls=wanted)


def done(answer: str) -> Reply:
    """Return a reply that ends the task."""
    return calls(call("done", answer=answer))


def refuses(
    status: int,
    message: str = "refused by the script",
    *,
    retry_after: str | float | None = None,
    code: str | None = None,
) -> Reply:
    """Return an error: 401, 429 with ``Retry-After``, 500, ..."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Reply(status=status, error=message, code=code, headers=headers)


def sends(raw: str) -> Reply:
    """Return a reply with this body, which need not be JSON."""
    return Reply(raw=raw)


def body_of(reply: Reply, model: str) -> dict[str, Any]:
    """Return the JSON body of a reply that is not streamed."""
    if reply.status >= 300:
        return {"error": {"message": reply.error, "type": "scripted", "param": None, "code": reply.code}}
    message: dict[str, Any] = {"role": "assistant", "content": reply.text, "refusal": None}
    if reply.calls:
        message["tool_calls"] = [_function(each) for each in reply.calls]
    body: dict[str, Any] = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": _reason(reply)}],
    }
    return {**body, "usage": _usage(reply)} if reply.usage else body


def chunks_of(reply: Reply, model: str, *, with_usage: bool) -> list[dict[str, Any]]:
    """Return the pieces of a streamed reply; texts and arguments come in several."""
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in _pieces(reply.text or "")]
    for index, each in enumerate(reply.calls):
        head = {**_function(each), "index": index}
        deltas.append({"tool_calls": [{**head, "function": {"name": each.name, "arguments": ""}}]})
        deltas += [
            {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            for piece in _pieces(each.arguments)
        ]
    choices: list[list[dict[str, Any]]] = [
        [{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas
    ]
    choices.append([{"index": 0, "delta": {}, "finish_reason": _reason(reply)}])
    head = {"id": "chatcmpl-scripted", "object": "chat.completion.chunk", "created": 1, "model": model}
    chunks = [{**head, "choices": choice} for choice in choices]
    if with_usage and reply.usage:
        chunks.append({**head, "choices": [], "usage": _usage(reply)})
    return chunks


def _pieces(text: str, size: int = 7) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


def _function(each: Call) -> dict[str, Any]:
    return {"id": each.id, "type": "function", "function": {"name": each.name, "arguments": each.arguments}}


def _reason(reply: Reply) -> str:
    return reply.finish_reason or ("tool_calls" if reply.calls else "stop")


def _usage(reply: Reply) -> dict[str, Any]:
    tokens_in, tokens_out = reply.usage or (0, 0)
    return {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
        "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
    }
