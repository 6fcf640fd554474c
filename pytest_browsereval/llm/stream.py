"""A streamed reply, put together into the body that a plain request would get."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_browsereval.llm.reasoning import is_json
from pytest_browsereval.llm.usage import count_tokens

TEXTS = ("content", "refusal", "reasoning_content", "reasoning", "reasoning_details")
"""What comes in pieces."""

_STREAM = re.compile(r"\s*(?:data|event|id|retry)?:")
_DATA = re.compile(r"^data:(.*)", re.MULTILINE)
_BLANK = re.compile(r"\s*")
_END = "[DONE]"
_KEYS = {"choices", "usage", "error", "type", "id"}
"""One of them is in each piece that is not an error."""

NO_END = "the stream has no finish_reason, so the reply may be incomplete"


def is_stream(text: str) -> bool:
    """Return whether a text is a stream of events: some servers send one unasked, and others never."""
    return _STREAM.match(text) is not None


def read_stream(text: str) -> dict[str, Any]:
    """Return the body that the pieces of a stream make up.

    Raises:
        ValueError: it holds what is not JSON.
    """
    reply = _StreamedReply()
    for chunk in read_events(text):
        reply.add(chunk)
    return reply.body()


def read_events(text: str) -> Iterator[Any]:
    """Yield the JSON of each event.

    Raises:
        ValueError: it is not JSON.
    """
    # Read as one text: some servers leave out the blank line between two events.
    data, decoder = "\n".join(_DATA.findall(text.replace("\r", "\n"))), json.JSONDecoder()
    place = 0
    while (place := _BLANK.match(data, place).end()) < len(data) and not data.startswith(_END, place):  # type: ignore[union-attr]
        chunk, place = decoder.raw_decode(data, place)
        yield chunk


@dataclass
class _Call:
    place: int
    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def arguments(self) -> str:
        return "".join(self.pieces)

    def is_over(self, call_id: str, name: str, arguments: str) -> bool:
        """Return whether a piece with a name opens another call: several gateways number each call 0."""
        if call_id and self.id and call_id != self.id:
            return True
        if not name.startswith(self.name):
            return bool(arguments or self.pieces)
        # Without an id, the same name stands in each piece of one call, or in each of two calls.
        is_whole = bool(self.pieces) and self.pieces[-1].rstrip().endswith("}") and is_json(self.arguments)
        return bool(arguments) and is_whole and not self.is_repeated(arguments)

    def is_repeated(self, arguments: str) -> bool:
        """Return whether the last piece of a call says all of it again."""
        return bool(self.id and arguments) and arguments == self.arguments

    def add(self, name: str, arguments: str) -> None:
        """Add one piece."""
        self.name = name if name.startswith(self.name) else self.name + name
        if arguments:
            self.pieces.append(arguments)


class _StreamedReply:
    def __init__(self) -> None:
        self._texts: dict[str, list[Any]] = {}
        self._calls: list[_Call] = []
        self._by_place: dict[int, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._head: dict[str, Any] = {}
        self._choice: dict[str, Any] = {}
        self._usage: dict[str, Any] = {}

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Add one piece."""
        self._head.update({key: chunk[key] for key in ("id", "model", "error") if chunk.get(key)})
        if "error" in (chunk.get("object"), chunk.get("type")) or not chunk.keys() & _KEYS:
            self._head["error"] = chunk.get("error") or dict(chunk)
        for choice in chunk.get("choices") or ():
            if (choice.get("index") or 0) == 0:
                self._choice.update({"error": choice["error"]} if choice.get("error") else {})
                self._add_end(choice.get("finish_reason"))
                merge_usage(self._usage, choice.get("usage"))
                self._add_delta(choice.get("delta") or choice.get("message") or {})
        merge_usage(self._usage, chunk.get("usage"))

    def _add_end(self, reason: Any) -> None:
        # A reply that was withheld or cut off stays that: gateways close it with a `stop` of their own.
        if reason not in (None, "", "null") and (
            reason not in ("stop", "tool_calls") or "finish_reason" not in self._choice
        ):
            self._choice["finish_reason"] = reason

    def _add_delta(self, delta: Mapping[str, Any]) -> None:
        for key in TEXTS:
            if delta.get(key):
                self._texts.setdefault(key, []).append(delta[key])
        calls = delta.get("tool_calls") or ()
        for position, piece in enumerate(calls):
            self._add_call(position if len(calls) > 1 else None, piece)

    def _add_call(self, position: int | None, piece: Mapping[str, Any]) -> None:
        function, call_id = piece.get("function") or {}, str(piece.get("id") or "")
        name, given = function.get("name") or "", function.get("arguments")
        arguments = given if isinstance(given, str) else "" if given is None else json.dumps(given)
        call = self._find_call(position, piece, call_id, name)
        index = piece.get("index")
        if call is None or (name and call.is_over(call_id, name, arguments)):
            call = _Call(index if isinstance(index, int) else len(self._calls))
            self._calls.append(call)
        self._by_place[call.place] = call
        if not (name and call.pieces and call.is_repeated(arguments)):
            call.add(name, arguments)
        call.id = call.id or call_id
        if call_id:
            self._by_id.setdefault(call_id, call)
        call.more.update({k: v for k, v in piece.items() if k not in ("function", "index", "id") and v})

    def _find_call(
        self, position: int | None, piece: Mapping[str, Any], call_id: str, name: str
    ) -> _Call | None:
        """Return the call that a piece belongs to: by its number, else by its id, else by where it stands."""
        index = piece.get("index")
        if isinstance(index, int) and (index in self._by_place or name):
            return self._by_place.get(index)
        if call_id in self._by_id:
            return self._by_id[call_id]
        if position is not None:
            return self._by_place.get(position)
        return self._calls[-1] if self._calls else None

    def body(self) -> dict[str, Any]:
        """Return the whole."""
        message = {"role": "assistant", "content": "", **{k: _join(v) for k, v in self._texts.items()}}
        if self._calls:
            message["tool_calls"] = [
                {**call.more, "id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
                for call in sorted(self._calls, key=lambda call: call.place)
            ]
        if "finish_reason" not in self._choice:
            # Gateways close a stream in order, and write the last event, also where they lost the model.
            self._head.setdefault("error", NO_END)
        return {**self._head, "choices": [{"message": message, **self._choice}], "usage": self._usage}


def _join(pieces: Sequence[Any]) -> Any:
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    lists = (piece if isinstance(piece, list) else [piece] for piece in pieces)
    return [part for parts in lists for part in parts]


def merge_usage(known: dict[str, Any], given: Any) -> None:
    """Add what a piece counts; the zeros of a last one count nothing."""
    for key, value in given.items() if isinstance(given, Mapping) else ():
        if isinstance(value, Mapping):
            merge_usage(known.setdefault(key, {}), value)
        elif count_tokens(value) or key not in known:
            known[key] = value
