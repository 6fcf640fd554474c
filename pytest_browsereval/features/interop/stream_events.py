"""``messages.jsonl`` of BrowserOS, in both its forms, as messages of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_browsereval.config_text import DocumentError, format_path
from pytest_browsereval.config_text.json_text import json_value
from pytest_browsereval.errors import ErrorSource, UsageError
from pytest_browsereval.features.foreign_files import wrong
from pytest_browsereval.model import messages as ours
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.results import EvalWarning

# Types of the form of the design documents, which is ours as well.
DESIGNED = frozenset(
    ("user", "assistant", "tool_call", "tool_result", "error", "delegation", "delegation_result")
)

# Events of the released form that add nothing to what other events say.
MARKS = frozenset(("start", "start-step", "finish-step", "finish", "tool-input-start", "tool-input-delta"))

# Our log has no place for these; a warning counts them.
NO_PLACE = frozenset(("source-url", "file"))

# The tool of the orchestrator.
DELEGATE = "delegate"


class EventLog:
    """Reads the lines of a log one by one.

    Args:
        path: the file, for messages.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._line = 0
        # Unfinished texts by their ids: timestamp and parts.
        self._texts: dict[str, tuple[str, list[str]]] = {}
        # The current delegation: the events of its executor follow without a mark of their own.
        self._span: str | None = None
        self._unplaced = 0
        self._is_cut = False

    def read(self) -> list[Message]:
        """Return the messages.

        Raises:
            UsageError: a line is not a message of either form; the error has file and line.
        """
        messages: list[Message] = []
        lines = self._path.read_bytes().split(b"\n")
        for self._line, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                value = json_value(line.decode())
            except (DocumentError, UnicodeDecodeError) as error:
                if self._line == len(lines):  # a line that is complete has an end
                    self._is_cut = True
                    break
                raise self._wrong(str(error)) from None
            messages += self._message(value)
        messages += [message for key in list(self._texts) for message in self._ended(key)]
        return messages

    def warnings(self) -> tuple[EvalWarning, ...]:
        """Return what of the log could not be taken over."""
        kinds = ", ".join(sorted(NO_PLACE))
        texts = {
            "the last line of messages.jsonl was cut and is left out": self._is_cut,
            f"{self._unplaced} events ({kinds}) of messages.jsonl are left out": self._unplaced,
        }
        source = ErrorSource.MESSAGE_LOGGING
        return tuple(EvalWarning(source=source, message=text, timestamp="") for text in texts if texts[text])

    def _wrong(self, message: str) -> UsageError:
        return UsageError(f"{format_path(self._path)}:{self._line}: {message}")

    def _time(self, event: dict[str, Any]) -> str:
        """Return the timestamp of an event; empty if it has none, for the time of reading is not it."""
        given = event.get("timestamp", "")
        try:
            return ours.check_time(given if isinstance(given, str) else repr(given))
        except ValueError as error:
            raise self._wrong(f"timestamp: {error}.") from None

    def _message(self, value: Any) -> list[Message]:
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str):
            raise self._wrong("a message is a block with a type.")
        if kind in MARKS:
            return []
        if kind in NO_PLACE:
            self._unplaced += 1
            return []
        try:
            if kind == "error" and "errorText" in value:
                return [ours.ErrorMessage(content=value["errorText"], timestamp=self._time(value))]
            if kind in DESIGNED:
                if "timestamp" not in value:
                    raise self._wrong(f"the {kind} has no timestamp.")
                return [ours.message_adapter.validate_python(value)]
            handler = self._handlers().get(kind)
            if handler is None:
                raise self._wrong(f"the type {kind!r} is of neither form of BrowserOS.")
            return list(handler(value))
        except ValidationError as error:
            first = error.errors()[0]
            raise self._wrong(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
        except KeyError as error:
            raise self._wrong(f"the {kind} has no {error.args[0]!r}.") from None

    def _handlers(self) -> dict[str, Callable[[dict[str, Any]], Iterator[Message]]]:
        return {
            "text-start": self._begun,
            "reasoning-start": self._begun,
            "text-delta": self._grown,
            "reasoning-delta": self._grown,
            "text-end": lambda event: self._ended(str(event.get("id"))),
            "reasoning-end": lambda event: self._ended(str(event.get("id"))),
            "tool-input-available": self._called,
            "tool-input-error": self._miscalled,
            "tool-output-available": self._returned,
            "tool-output-error": self._failed,
            "abort": self._aborted,
        }

    # -- texts

    def _begun(self, event: dict[str, Any]) -> Iterator[Message]:
        key = str(event.get("id"))
        yield from self._ended(key)
        self._texts[key] = (self._time(event), [])

    def _grown(self, event: dict[str, Any]) -> Iterator[Message]:
        delta = event["delta"]
        if not isinstance(delta, str):
            raise self._wrong("delta: a text is expected.")
        self._texts.setdefault(str(event.get("id")), (self._time(event), []))[1].append(delta)
        yield from ()

    def _ended(self, key: str) -> Iterator[Message]:
        timestamp, parts = self._texts.pop(key, ("", []))
        if text := "".join(parts):
            yield ours.AssistantMessage(content=text, timestamp=timestamp, parent_id=self._span)

    # -- tools

    def _called(self, event: dict[str, Any]) -> Iterator[Message]:
        call, tool, given = event["toolCallId"], event["toolName"], event["input"]
        instruction = given.get("instruction") if isinstance(given, dict) else None
        if tool == DELEGATE and isinstance(instruction, str) and isinstance(call, str):
            self._span = call
            yield ours.DelegationMessage(
                instruction=instruction, executor_id=call, span_id=call, timestamp=self._time(event)
            )
            return
        params = given if isinstance(given, dict) else {"input": given}
        yield ours.ToolCallMessage(
            tool=tool, tool_call_id=call, params=params, parent_id=self._span, timestamp=self._time(event)
        )

    def _miscalled(self, event: dict[str, Any]) -> Iterator[Message]:
        yield from self._called({"input": None, "toolName": "unknown", **event})
        yield from self._failed(event)

    def _returned(self, event: dict[str, Any]) -> Iterator[Message]:
        output = event["output"]
        is_error = isinstance(output, dict) and output.get("isError") is True
        yield self._result(event, output, is_error=is_error)

    def _failed(self, event: dict[str, Any]) -> Iterator[Message]:
        yield self._result(event, event["errorText"], is_error=True)

    def _result(self, event: dict[str, Any], output: Any, *, is_error: bool) -> Message:
        """Return the result of a call, or the report that the current delegation ends with."""
        call = event["toolCallId"]
        if call is not None and call == self._span:
            self._span = None
            return self._delegated(call, output, self._time(event))
        return ours.ToolResultMessage(
            tool_call_id=call,
            result=output,
            is_error=is_error,
            screenshot=event.get("screenshot"),
            parent_id=self._span,
            timestamp=self._time(event),
        )

    def _delegated(self, call: str, output: Any, timestamp: str) -> Message:
        """Return the executor's report; an error where there is none, for its status is not known."""
        said = output if isinstance(output, dict) else {"observation": output}
        summary = str(said.get("observation", ""))
        if "status" not in said or "actionsPerformed" not in said:
            message = f"the delegation {call} ended without a report: {summary}"
            return ours.ErrorMessage(content=message, span_id=call, timestamp=timestamp)
        return ours.DelegationResultMessage(
            executor_id=call,
            span_id=call,
            summary=summary,
            status=said["status"],
            steps_used=said["actionsPerformed"],
            current_url=said.get("url"),
            timestamp=timestamp,
        )

    def _aborted(self, event: dict[str, Any]) -> Iterator[Message]:
        why = event.get("reason")
        content = f"aborted: {why}" if isinstance(why, str) else "aborted"
        yield ours.ErrorMessage(content=content, timestamp=self._time(event))


def read_log(path: Path) -> tuple[list[Message], tuple[EvalWarning, ...]]:
    """Return the messages of a log, and what of it could not be taken over.

    Raises:
        UsageError: it is missing, or a line is not a message.
    """
    if not path.is_file():
        raise wrong(path, "is missing.")
    log = EventLog(path)
    return log.read(), log.warnings()
