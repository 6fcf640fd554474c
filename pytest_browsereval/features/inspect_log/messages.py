"""The conversation of a task in a log of another system as lines of a log of ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pytest_browsereval.features.inspect_log.events import format_time, read_content, read_time
from pytest_browsereval.features.inspect_log.pictures import Pictures
from pytest_browsereval.model import messages as ours
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.usage import Usage


class ChatReader:
    """Reads the messages of a task; times, usage and errors are found in the events.

    Args:
        api: of Inspect.
        pictures: takes the pictures.
    """

    def __init__(self, api: Any, pictures: Pictures) -> None:
        self._api, self._pictures = api, pictures
        self.messages: list[Message] = []
        self.system: list[str] = []
        """The first instructions of the agent; our log has no place for them."""
        self.first_words = ""
        self.last_words = ""
        self._lost: Counter[str] = Counter()
        self._ids: set[str] = set()
        self._names: dict[str, str] = {}

    def losses(self) -> Mapping[str, int]:
        """Return what could not be taken over."""
        return {**self._lost, "pictures that are not in the log are left out": self._pictures.lost}

    def check_time(self, at: object) -> str:
        """Return a time that can be read, else an empty text."""
        return read_time(str(at)) if at else ""

    def read(self, messages: Iterable[Any], events: Iterable[Any]) -> None:
        """Add the lines of a conversation."""
        models, tools = {}, {}
        for event in events:
            if event.event == "model" and event.output.choices:
                models[event.output.choices[0].message.id] = event
            elif event.event == "tool":
                tools[event.id] = event
        for message in messages:
            if message.role == "system":
                self.system.append(message.text)
            elif message.role == "user":
                self._read_user(message)
            elif message.role == "assistant":
                self._read_assistant(message, models.pop(message.id, None), tools)
            else:
                self._read_result(message, tools.get(message.tool_call_id))
        if models:
            self._lost["model calls outside of the conversation, as of sub-agents, are left out"] += len(
                models
            )

    def _read_user(self, message: Any) -> None:
        text, shown = read_content(message.content, self._pictures)
        if shown:
            self._lost["pictures in messages are kept, but not with a step"] += len(shown)
        self.first_words = self.first_words or text
        self.messages.append(ours.UserMessage(content=text, timestamp=""))

    def _read_assistant(self, message: Any, event: Any, tools: Mapping[str, Any]) -> None:
        text, _ = read_content(message.content, self._pictures)
        if isinstance(message.content, list):
            self._lost["texts of reasoning are left out"] += sum(
                part.type == "reasoning" for part in message.content
            )
        self.last_words = text or self.last_words
        used = event.output.usage if event else None
        seconds = event.working_time if event else None
        self.messages.append(
            ours.AssistantMessage(
                content=text,
                timestamp=format_time(event.completed or event.timestamp) if event else "",
                duration_ms=None if seconds is None or seconds < 0 else seconds * 1000,
                usage=used and _read_usage(used),
            )
        )
        for call in message.tool_calls or ():
            name, number = call.id, 1
            while name in self._ids:  # ids are unique in our log, and some models count from 1 each time
                number += 1
                name = f"{call.id}-{number}"
            self._ids.add(name)
            self._names[call.id] = name
            known = tools.get(call.id)
            params = call.arguments if isinstance(call.arguments, dict) else {"input": str(call.arguments)}
            at = format_time(known.timestamp) if known else ""
            self.messages.append(
                ours.ToolCallMessage(
                    tool=call.function, tool_call_id=name, params=params, span_id=name, timestamp=at
                )
            )

    def _read_result(self, message: Any, event: Any) -> None:
        name = self._names.pop(message.tool_call_id, None)
        text, shown = read_content(message.content, self._pictures)
        if name is None:
            self._lost["results without a call are left out"] += 1
            return
        if len(shown) > 1:
            self._lost["further pictures of a result are kept, but not with their step"] += len(shown) - 1
        error = message.error
        seconds = event.working_time if event else None
        self.messages.append(
            ours.ToolResultMessage(
                tool_call_id=name,
                result={"ok": error is None, "output": text or (error.message if error else "")},
                is_error=error is not None,
                screenshot=shown[0] if shown else None,
                span_id=name,
                duration_ms=None if seconds is None or seconds < 0 else seconds * 1000,
                timestamp=format_time(event.completed) if event and event.completed else "",
            )
        )


def _read_usage(used: Any) -> Usage:
    cached = max(used.input_tokens_cache_read or 0, 0)
    return Usage(
        input_tokens=max(used.input_tokens, 0) + cached,
        output_tokens=max(used.output_tokens, 0),
        cache_read_tokens=cached,
        cost_usd=used.total_cost,
    )
