"""How an API writes requests and replies: chat completions here, others in features."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pytest_browsereval.llm.config import LLMConfig, find_feature
from pytest_browsereval.llm.retries import TryFailed
from pytest_browsereval.llm.stream import read_stream

Body = dict[str, Any]

TEXT = {"type": "text"}
"""Among the thoughts of a reply: where its text stands."""

CALL = "tool_call"
"""The type of what stands among them for a call, with its ``id``."""


class Api:
    """Chat completions. Another API derives from it, and turns its requests and replies into these.

    Args:
        config: the model.
    """

    path: ClassVar[str] = "/chat/completions"
    """Where requests go, below the base URL."""

    def __init__(self, config: LLMConfig) -> None:
        self._config = config

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the headers that carry the key; None: the server wants none."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def write(self, request: Mapping[str, Any]) -> Body:
        """Return what is sent for a chat-completions request."""
        streaming = {"stream": True, "stream_options": {"include_usage": True}}
        return {**request, **(streaming if self._config.stream else {})}

    def adapt(self, failure: TryFailed, sent: Body) -> bool:
        """Return whether the same request, written again, leaves out what the server refused."""
        del failure, sent
        return False

    def read(self, reply: Any) -> Any:
        """Return the chat-completions body of a reply; one that cannot be read stays as it is.

        Raises:
            TypeError, LookupError, AttributeError: it is not what the API defines.
        """
        return reply

    def read_stream(self, text: str) -> Any:
        """Return the chat-completions body of a streamed reply.

        Raises:
            ValueError: a piece of it is not JSON.
        """
        return read_stream(text)


def open_api(config: LLMConfig) -> Api:
    """Return the API that a model is asked by."""
    feature = find_feature(config.api_name)
    kind: type[Api] = feature.load(feature.apis[config.api_name]) if feature else Api
    return kind(config)


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
