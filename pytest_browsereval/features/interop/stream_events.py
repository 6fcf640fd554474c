"""``messages.jsonl`` of BrowserOS, in both its forms, as messages of ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_browsereval.config_text import DocumentError, format_path
from pytest_browsereval.config_text.json_text import json_value
from pytest_browsereval.errors import ErrorSource, UsageError
from pytest_browsereval.features.interop.files import wrong
from pytest_browsereval.model import messages as ours
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.results import EvalWarning

# Types of the form of the design documents, which is ours as well.
DESIGNED = frozenset(
    ("user", "assistant", "tool_call", "tool_result", "error", "delegation", "delegation_result")
)

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
        messages += [message for key in list(self._texts) for message in self._end_text(key)]
        return messages

    def warnings(self) -> tuple[EvalWarning, ...]:
        """Return what of the log could not be taken over."""
        texts = {
            "the last line of messages.jsonl was cut and is left out": self._is_cut,
            f"{self._unplaced} events (file, source-url) of messages.jsonl are left out": self._unplaced,
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
        try:
            if kind in DESIGNED and not (kind == "error" and "errorText" in value):
                if "timestamp" not in value:
                    raise self._wrong(f"the {kind} has no timestamp.")
                return [ours.message_adapter.validate_python(value)]
            return list(self._read_event(kind, value))
        except ValidationError as error:
            first = error.errors()[0]
            raise self._wrong(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
        except KeyError as error:
            raise self._wrong(f"the {kind} has no {error.args[0]!r}.") from None

    def _read_event(  # noqa: C901, PLR0912 a table of events
        self, kind: str, event: dict[str, Any]
    ) -> Iterator[Message]:
        """Yield the messages of an event of the released form."""
        key = str(event.get("id"))
        match kind:
            case "start" | "start-step" | "finish-step" | "finish" | "tool-input-start" | "tool-input-delta":
                pass  # other events say it too
            case "source-url" | "file":
                self._unplaced += 1
            case "error":
                yield ours.ErrorMessage(content=event["errorText"], timestamp=self._time(event))
            case "abort":
                why = event.get("reason")
                content = f"aborted: {why}" if isinstance(why, str) else "aborted"
                yield ours.ErrorMessage(content=content, timestamp=self._time(event))
            case "text-start" | "reasoning-start":
                yield from self._end_text(key)
                self._texts[key] = (self._time(event), [])
            case "text-delta" | "reasoning-delta":
                if not isinstance(delta := event["delta"], str):
                    raise self._wrong("delta: a text is expected.")
                self._texts.setdefault(key, (self._time(event), []))[1].append(delta)
            case "text-end" | "reasoning-end":
                yield from self._end_text(key)
            case "tool-input-available":
                yield self._call(event)
            case "tool-input-error":
                yield self._call({"input": None, "toolName": "unknown", **event})
                yield self._result(event, event["errorText"], is_error=True)
            case "tool-output-available":
                output = event["output"]
                is_error = isinstance(output, dict) and output.get("isError") is True
                yield self._result(event, output, is_error=is_error)
            case "tool-output-error":
                yield self._result(event, event["errorText"], is_error=True)
            case _:
                raise self._wrong(f"the type {kind!r} is of neither form of BrowserOS.")

    def _end_text(self, key: str) -> Iterator[Message]:
        timestamp, parts = self._texts.pop(key, ("", []))
        if text := "".join(parts):
            yield ours.AssistantMessage(content=text, timestamp=timestamp, parent_id=self._span)

    def _call(self, event: dict[str, Any]) -> Message:
        call, tool, given = event["toolCallId"], event["toolName"], event["input"]
        instruction = given.get("instruction") if isinstance(given, dict) else None
        if tool == DELEGATE and isinstance(instruction, str) and isinstance(call, str):
            self._span = call
            return ours.DelegationMessage(
                instruction=instruction, executor_id=call, span_id=call, timestamp=self._time(event)
            )
        params = given if isinstance(given, dict) else {"input": given}
        return ours.ToolCallMessage(
            tool=tool, tool_call_id=call, params=params, parent_id=self._span, timestamp=self._time(event)
        )

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


def read_log(path: Path) -> tuple[list[Message], tuple[EvalWarning, ...]]:
    """Return the messages of a log, and what of it could not be taken over.

    Raises:
        UsageError: it is missing, or a line is not a message.
    """
    if not path.is_file():
        raise wrong(path, "is missing.")
    log = EventLog(path)
    return log.read(), log.warnings()
