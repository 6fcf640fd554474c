"""A model's reply: read from a chat-completions body, whole or streamed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_browsereval.llm.retries import TryFailed, read_error
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.redaction.text import well_formed

_REPLAYED = ("reasoning_content", "reasoning_details")
"""What some models need back beside content and calls, or lose their train of thought."""

_LONGEST_NAME = 64

MOST_TOKENS = 10**12
"""More than any model reads or writes in one call: a count beyond it is wrong."""

UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What reading raises where a reply is not what chat completions define."""


@dataclass(frozen=True)
class ToolRequest:
    """A tool call that the model asks for."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    """None: ``raw`` is not a JSON object."""
    raw: str
    problem: str = "The arguments are not a JSON object."
    """What the model reads where ``arguments`` is None."""


@dataclass(frozen=True)
class Completion:
    """One reply of a model."""

    text: str
    tool_calls: tuple[ToolRequest, ...] = ()
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    """``stop``, ``tool_calls``, ``length``, ``content_filter`` or a word of the provider's own."""
    refusal: str = ""
    """Why the model would not answer, where the provider tells that apart; it is in ``text`` too then."""
    duration_ms: float = 0.0
    """From the first request to the reply, retries and waiting included."""
    retries: int = 0
    message: dict[str, Any] = field(default_factory=dict, repr=False)
    """The reply as a message to send back with the next request."""


def check_body(body: Any) -> dict[str, Any]:
    """Return the body of a reply, or refuse it.

    Raises:
        TryFailed: it is not an object, carries an error, has no choice with a message, or counts absurdly.
    """
    if not isinstance(body, dict):
        raise TryFailed(f"the reply is not a JSON object: {beginning(str(body), 100)!r}")
    if body.get("error"):
        # Gateways pass errors on with status 200.
        message, code = read_error(body, "an error without a message")
        inner = body["error"]
        status = inner.get("code") if isinstance(inner, Mapping) else None
        raise TryFailed(message, status=status if isinstance(status, int) else None, code=code)
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, Mapping) or not isinstance(first.get("message"), Mapping):
        raise TryFailed("the reply holds no choices")
    usage = _usage(body.get("usage"))
    if max(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) > MOST_TOKENS:
        raise TryFailed(f"the reply reports more than {MOST_TOKENS:,} tokens")
    return body


def read_body(body: Mapping[str, Any]) -> Completion:
    """Return the reply in a body that ``check_body`` has passed; cost and times are not in it."""
    choice = body["choices"][0]
    message = choice["message"]
    refusal = _text(message.get("refusal"))
    text = _text(message.get("content")) or refusal
    calls = tuple(_requests(message.get("tool_calls")))
    reason = choice.get("finish_reason")
    return Completion(
        text=text,
        tool_calls=calls,
        usage=_usage(body.get("usage")),
        finish_reason=reason if isinstance(reason, str) else None,
        refusal=refusal,
        message=_build_history_message(message, text, calls),
    )


def _text(content: Any) -> str:
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = (part.get("text") for part in parts if isinstance(part, Mapping))
    return well_formed("".join(text for text in texts if isinstance(text, str)))


def _requests(calls: Any) -> list[ToolRequest]:
    found = []
    for number, call in enumerate(calls if isinstance(calls, list) else [], 1):
        function = call.get("function") if isinstance(call, Mapping) else None
        # Anything but a function is a kind of call that we did not offer.
        if not isinstance(function, Mapping):
            continue
        given = function.get("arguments")
        raw = given if isinstance(given, str) else json.dumps(given if given is not None else {})
        found.append(
            ToolRequest(
                id=str(call.get("id") or f"call_{number}"),
                name=str(function.get("name") or ""),
                arguments=_object(raw),
                raw=well_formed(raw),
            )
        )
    return found


def _object(raw: str) -> dict[str, Any] | None:
    if not raw.strip():
        return {}  # what several servers send for a tool without arguments
    try:
        value = json.loads(raw)
        if not isinstance(value, dict):
            return None
        text = json.dumps(value, ensure_ascii=False)
        fit = well_formed(text)
        return value if fit == text else dict(json.loads(fit))
    except (ValueError, RecursionError):
        return None


def _build_history_message(
    message: Mapping[str, Any], text: str, calls: tuple[ToolRequest, ...]
) -> dict[str, Any]:
    """Return the message to send back: providers refuse broken arguments and odd names in a history."""
    replayed: dict[str, Any] = {"role": "assistant", "content": text or None}
    replayed.update({key: message[key] for key in _REPLAYED if message.get(key)})
    if not calls:
        return {**replayed, "content": text}
    given = [c for c in message["tool_calls"] if isinstance(c, Mapping) and "function" in c]
    replayed["tool_calls"] = [
        {
            **{key: value for key, value in original.items() if key != "index"},
            "id": call.id,
            "type": "function",
            "function": {
                "name": re.sub(r"[^A-Za-z0-9_-]", "_", beginning(call.name, _LONGEST_NAME)) or "unnamed",
                "arguments": "{}" if call.arguments is None or not call.raw.strip() else call.raw,
            },
        }
        for original, call in zip(given, calls, strict=False)
    ]
    return replayed


def _usage(usage: Any) -> Usage:
    if not isinstance(usage, Mapping):
        return Usage(requests=1)
    details = usage.get("prompt_tokens_details")
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        cache_read_tokens=_count(details.get("cached_tokens")) if isinstance(details, Mapping) else 0,
        requests=1,
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


class StreamedReply:
    """Puts the pieces of a streamed reply together into the body that a plain request would get."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {"role": "assistant", "content": ""}
        self._calls: dict[int, dict[str, Any]] = {}
        self._head: dict[str, Any] = {}
        self._usage: Any = None
        self._finish_reason: str | None = None

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Add one piece."""
        self._head.update({key: chunk[key] for key in ("id", "model") if chunk.get(key)})
        self._usage = chunk.get("usage") or self._usage
        for choice in chunk.get("choices") or ():
            if choice.get("index", 0) == 0:
                self._finish_reason = choice.get("finish_reason") or self._finish_reason
                self._add_delta(choice.get("delta") or {})

    def _add_delta(self, delta: Mapping[str, Any]) -> None:
        for key in ("content", "refusal", *_REPLAYED):
            piece = delta.get(key)
            if piece:
                before = self._message.get(key)
                self._message[key] = before + piece if before else piece
        # Some servers send no index: the place in the list is what there is.
        for position, piece in enumerate(delta.get("tool_calls") or ()):
            self._add_call(piece.get("index", position), piece)

    def _add_call(self, index: int, piece: Mapping[str, Any]) -> None:
        call = self._calls.setdefault(index, {"function": {"name": "", "arguments": ""}})
        function = piece.get("function") or {}
        for key in ("name", "arguments"):
            call["function"][key] += function.get(key) or ""
        call.update({k: v for k, v in piece.items() if k not in ("function", "index") and v is not None})

    def body(self) -> dict[str, Any]:
        """Return the whole.

        Raises:
            TryFailed: the stream ended before the reply did.
        """
        if self._finish_reason is None:
            raise TryFailed("the stream ended before the reply was complete")
        if self._calls:
            self._message["tool_calls"] = [self._calls[index] for index in sorted(self._calls)]
        choice = {"index": 0, "message": self._message, "finish_reason": self._finish_reason}
        return {**self._head, "choices": [choice], "usage": self._usage}
