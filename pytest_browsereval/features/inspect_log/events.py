"""The events of an attempt of ours, that were written as a log of Inspect, as lines of a log again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from pydantic import ValidationError

from pytest_browsereval.features.inspect_log.pictures import Pictures
from pytest_browsereval.model import messages as ours
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.usage import Usage


def read_time(text: object) -> str:
    """Return a time of a log if it can be read, else an empty text."""
    with suppress(ValueError):
        return ours.check_time(text) if isinstance(text, str) else ""
    return ""


def format_time(at: Any) -> str:
    """Return a time as our logs have it."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z") if at is not None else ""


def read_content(content: Any, pictures: Pictures, number: object = None) -> tuple[str, list[int]]:
    """Return the texts of a message or result, and the numbers of its pictures."""
    if isinstance(content, str):
        return content, []
    texts: list[str] = []
    shown: list[int] = []
    for part in content if isinstance(content, list) else ():
        if part.type == "text":
            texts.append(part.text)
        elif part.type == "image":
            found = pictures.add(part.image, number if not shown else None)
            shown += [] if found is None else [found]
        else:
            pictures.lost += part.type not in ("reasoning", "data", "tool_use")
    return "\n".join(texts), shown


class EventReader:
    """Reads events.

    Args:
        api: of Inspect.
        pictures: takes the pictures.
    """

    def __init__(self, api: Any, pictures: Pictures) -> None:
        self._api, self._pictures = api, pictures
        self.messages: list[Message] = []
        self._lost: Counter[str] = Counter()
        self._open: dict[str, Any] = {}

    def losses(self) -> Mapping[str, int]:
        """Return what could not be taken over."""
        return {**self._lost, "pictures that are not in the log are left out": self._pictures.lost}

    def read(self, events: Iterable[Any]) -> None:
        """Add the lines of events."""
        readers = {
            "info": self._read_info,
            "model": self._read_model,
            "tool": self._read_tool,
            "span_begin": self._begin_span,
            "span_end": self._end_span,
            "error": self._read_error,
        }
        for event in events:
            read = readers.get(event.event)
            if read is not None:
                try:
                    read(event, event.metadata or {})
                except (ValidationError, ValueError, TypeError):
                    self._lost["damaged events are left out"] += 1

    def _read_info(self, event: Any, _: Mapping[str, Any]) -> None:
        if event.source == "user" and isinstance(event.data, str):
            at = format_time(event.timestamp)
            self.messages.append(ours.UserMessage(content=event.data, timestamp=at, parent_id=event.span_id))
        elif event.source == "picture" and isinstance(event.data, dict):
            self._pictures.add(event.data.get("image"), event.data.get("number"))

    def _read_model(self, event: Any, known: Mapping[str, Any]) -> None:
        if known.get("recorded") is not True or not event.output.choices:
            return  # the call of an agent without a model
        text, _ = read_content(event.output.choices[0].message.content, self._pictures)
        usage = known.get("usage")
        self.messages.append(
            ours.AssistantMessage(
                content=text,
                timestamp=read_time(known.get("timestamp")),
                duration_ms=known.get("duration_ms"),
                usage=None if usage is None else Usage.model_validate(usage),
                parent_id=event.span_id,
            )
        )

    def _read_tool(self, event: Any, known: Mapping[str, Any]) -> None:
        common: dict[str, Any] = {"span_id": event.id, "parent_id": event.span_id}
        self.messages.append(
            ours.ToolCallMessage(
                tool=event.function,
                tool_call_id=event.id,
                params=event.arguments,
                timestamp=read_time(known.get("timestamp")),
                **common,
            )
        )
        if "completed" not in known:
            return  # the attempt ended before
        text, shown = read_content(event.result, self._pictures, known.get("screenshot"))
        is_error = event.error is not None
        self.messages.append(
            ours.ToolResultMessage(
                tool_call_id=event.id,
                result={"ok": not is_error, "output": text},
                is_error=is_error,
                screenshot=shown[0] if shown else None,
                url=known.get("url"),
                duration_ms=known.get("duration_ms"),
                timestamp=read_time(known.get("completed")),
                **common,
            )
        )

    def _begin_span(self, event: Any, known: Mapping[str, Any]) -> None:
        goal = ours.message_adapter.validate_python(known.get("goal"))
        self.messages.append(goal.model_copy(update={"span_id": event.id, "parent_id": event.parent_id}))
        self._open[event.id] = known.get("report"), event.parent_id

    def _end_span(self, event: Any, _: Mapping[str, Any]) -> None:
        given, parent = self._open.pop(event.id, (None, None))
        if given is not None:
            report = ours.message_adapter.validate_python(given)
            self.messages.append(report.model_copy(update={"span_id": event.id, "parent_id": parent}))

    def _read_error(self, event: Any, known: Mapping[str, Any]) -> None:
        at = format_time(event.timestamp)
        code = known.get("code")
        self.messages.append(
            ours.ErrorMessage(
                content=event.error.message, error_code=code, timestamp=at, parent_id=event.span_id
            )
        )
