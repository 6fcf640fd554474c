"""A model's reply: read from a chat-completions body, if it is whole."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from pytest_browsereval.llm.reasoning import split_reasoning
from pytest_browsereval.llm.retries import TryFailed, read_failure
from pytest_browsereval.llm.usage import read_usage
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.redaction.text import well_formed

_REPLAYED = ("reasoning_content", "reasoning_details")
"""What some models need back in addition to content and calls, or lose their train of thought."""

_LONGEST_NAME = 64

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
    """Without the thoughts of the model."""
    tool_calls: tuple[ToolRequest, ...] = ()
    usage: Usage = field(default_factory=Usage)
    finish_reason: str | None = None
    """``length`` if it was cut off at its limit: its text is then not an answer, and its calls have no
    arguments. Else ``stop``, ``tool_calls`` or a word of the provider's own."""
    refusal: str = ""
    """Why the model would not answer, if the provider reports that separately; ``text`` then has it too."""
    reasoning: str = ""
    """What the model thought, where the provider shows it."""
    duration_ms: float = 0.0
    """From the first request to the reply, retries and waiting included."""
    retries: int = 0
    message: dict[str, Any] = field(default_factory=dict, repr=False)
    """The reply as a message to send back with the next request."""


_WHOLE = re.compile(
    r"(?:stop|eos|end)(?:token|tokenid|sequence|string|word|turn|found|oftext|ofturn|ofsequence)*"
    r"|(?:tool|function)(?:calls?|use)|(?:complete|finishe?|done)d?"
)
_CALLED = re.compile(r"(?:tool|function)(?:calls?|use)")
_CUT = re.compile(r"length|max\w*tokens|tokenlimit|contextwindow|repetition")
_FILTERED = re.compile(
    r"filter|safety|sensitive|refus|recitation|blocklist|prohibited|spii|guardrail|moderat|toxic|flagged|policy"
)

CUT = "length"
"""The finish reason of a reply that met a limit of its length, no matter what the provider calls that."""

CALL_CUT = "No call was made: the reply was cut off."


def check_body(body: Any) -> dict[str, Any]:
    """Return the body of a whole reply, or of one that met the limit of its length; refuse any other.

    Raises:
        TryFailed: it carries an error, was broken off or held back, has no message, or counts absurdly.
    """
    if not isinstance(body, dict):
        raise TryFailed(f"the reply is not a JSON object: {beginning(str(body), 100)!r}")
    choice = _choice(body)
    for holder in (body, choice):
        # Gateways pass errors on with status 200, and with what had come until then.
        if holder.get("error"):
            raise read_failure(holder, "an error without a message")
    read_usage(body.get("usage"))
    if not choice:
        raise read_failure(body, "the reply has no choices")
    reason, message = choice.get("finish_reason"), choice.get("message")
    if not isinstance(message, Mapping):
        raise TryFailed("the reply has no message")
    content = message.get("content")
    if not all(isinstance(part, str) or _is_part(part) for part in _listed(content)):
        raise TryFailed(f"the reply's content is neither text nor parts: {beginning(str(content), 100)!r}")
    if reason in (None, "", "null"):
        # The wire has brought all of it, and small servers name no reason; what they held back is not here.
        said = split_reasoning(_text(content))[1].strip() or message.get("refusal")
        if not (said or _functions(message)):
            raise TryFailed("the reply has no finish_reason, no text and no call")
        return body
    _check_end(reason)
    if _CALLED.fullmatch(_letters(reason)) and not _functions(message):
        raise TryFailed(f"the reply ends with finish_reason {reason!r}, but has no call")
    return body


def has_begun(body: Mapping[str, Any]) -> bool:
    """Return whether a body has a part of a reply, no matter what follows it."""
    message = _choice(body).get("message")
    return isinstance(message, Mapping) and any(message.get(key) for key in ("content", "tool_calls"))


def _choice(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the first choice by its number, as it is read of a stream, else by its place."""
    choices = body.get("choices")
    found = [each for each in choices if isinstance(each, Mapping)] if isinstance(choices, list) else []
    return next((each for each in found if not each.get("index")), found[0] if found else {})


def _check_end(reason: Any) -> None:
    word = _letters(reason)
    if _WHOLE.fullmatch(word) or _CUT.search(word):
        return
    said = beginning(str(reason), 100)
    if _FILTERED.search(word) and "malformed" not in word:
        raise TryFailed(f"a filter of the provider withheld the reply (finish_reason {said!r})")
    raise TryFailed(f"the provider cut the reply off (finish_reason {said!r})")


def _letters(reason: Any) -> str:
    letters = re.sub(r"[^a-z]", "", reason.lower()) if isinstance(reason, str) else ""
    return letters.removeprefix("finishreason")


def read_body(body: Mapping[str, Any], taken: Iterable[str] = ()) -> Completion:
    """Return the reply in a body that ``check_body`` has passed; cost and times are not in it.

    Args:
        body: of the reply.
        taken: ids of calls that the conversation has already.
    """
    choice = _choice(body)
    message, reason = choice["message"], choice.get("finish_reason")
    refusal = _text(message.get("refusal"))
    thoughts, text = split_reasoning(_text(message.get("content")))
    reason = reason if isinstance(reason, str) else None
    is_cut = _CUT.search(_letters(reason)) is not None
    calls = tuple(_requests(message, taken, is_cut=is_cut))
    reasoning = [_text(message.get(key)) for key in ("reasoning_content", "reasoning")]
    reasoning += [_thoughts(message.get("content")), thoughts]
    return Completion(
        text=text or refusal,
        tool_calls=calls,
        usage=read_usage(body.get("usage")),
        finish_reason=CUT if is_cut else reason,
        refusal=refusal,
        # Servers may say the same in several places.
        reasoning="\n".join(filter(None, dict.fromkeys(reasoning))),
        message=_build_history_message(message, text or refusal, calls),
    )


_TEXT_TYPES = (None, "text", "output_text")


def _listed(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [] if content is None else [content]


def _is_part(part: Any) -> bool:
    return isinstance(part, Mapping) and bool(part.keys() & {"type", "text"})


def _parts(content: Any) -> list[Mapping[str, Any]]:
    parts = [{"text": part} if isinstance(part, str) else part for part in _listed(content)]
    return [part for part in parts if isinstance(part, Mapping)]


def _text(content: Any) -> str:
    texts = (part.get("text") for part in _parts(content) if part.get("type") in _TEXT_TYPES)
    return well_formed("".join(text for text in texts if isinstance(text, str)))


def _thoughts(content: Any) -> str:
    """Return what a content has in parts of another type: Mistral's models think there."""
    others = (part for part in _parts(content) if part.get("type") not in _TEXT_TYPES)
    return "".join(_text(part.get(str(part["type"])) or part.get("text")) for part in others)


def _functions(message: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Return the calls of a message, each with its function; others are of a kind that we did not offer."""
    calls = message.get("tool_calls")
    given = [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []
    return [(call, function) for call in given if isinstance(function := call.get("function"), Mapping)]


def _requests(message: Mapping[str, Any], taken: Iterable[str], *, is_cut: bool) -> Iterator[ToolRequest]:
    used = set(taken)
    free = (name for number in count(len(used) + 1) if (name := f"call_{number}") not in used)
    for call, function in _functions(message):
        given = function.get("arguments")
        raw = given if isinstance(given, str) else json.dumps(given if given is not None else {})
        call_id = str(call.get("id") or "")
        call_id = call_id if call_id and call_id not in used else next(free)
        used.add(call_id)
        made = ToolRequest(call_id, str(function.get("name") or ""), _object(raw), well_formed(raw))
        # Servers complete what was cut, and so no call of such a reply is known to be whole.
        yield replace(made, arguments=None, problem=CALL_CUT) if is_cut else made


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
        for (original, _), call in zip(_functions(message), calls, strict=True)
    ]
    return replayed
