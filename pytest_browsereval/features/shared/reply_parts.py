"""Requests and replies of APIs other than chat completions: thoughts, texts and calls in their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_browsereval.llm.api import Body

TEXT = {"type": "text"}
"""Among the thoughts of a reply: where its text stands."""

CALL = "tool_call"
"""The type of what stands among them for a call, with its ``id``."""


def make_body(
    text: str,
    calls: Sequence[tuple[Any, Any, str]],
    order: Sequence[Mapping[str, Any]],
    *,
    reason: Any,
    usage: Mapping[str, Any] | None,
    **message: Any,
) -> Body:
    """Return the chat-completions body of another API's reply.

    Args:
        text: what it says.
        calls: id, name and arguments of each call.
        order: its thoughts as they came, ``TEXT`` and a ``CALL`` for each call among them.
        reason: why it ended.
        usage: its tokens.
        message: more of the message.
    """
    has_thoughts = any(part != TEXT and part["type"] != CALL for part in order)
    said = {"role": "assistant", "content": text, **message}
    said |= {"reasoning_details": list(order)} if has_thoughts else {}
    if calls:
        said["tool_calls"] = [
            {"id": one, "type": "function", "function": {"name": name, "arguments": arguments}}
            for one, name, arguments in calls
        ]
    return {"choices": [{"index": 0, "message": said, "finish_reason": reason}], "usage": usage}


def put_in_order(
    message: Mapping[str, Any], thoughts: Sequence[str], text: Sequence[Body], calls: Mapping[str, Body]
) -> Iterator[Body]:
    """Yield the parts of a reply as the model wrote them: providers check the order of its thoughts.

    Args:
        message: the reply in the history.
        thoughts: the types of thoughts.
        text: the part of its text, if it has one.
        calls: its calls by id.
    """
    left, rest = list(text), dict(calls)
    for part in message.get("reasoning_details") or ():
        if part == TEXT:
            yield from left
            left = []
        elif part["type"] == CALL:
            yield from filter(None, [rest.pop(part["id"], None)])
        elif part["type"] in thoughts:
            yield part
    yield from left
    yield from rest.values()


def parts_of(content: Any) -> list[Mapping[str, Any]]:
    """Return the parts of a message's content that say something: texts and pictures."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content or ()
    return [part for part in parts if part["type"] != "text" or part["text"].strip()]
