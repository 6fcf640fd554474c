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
from pytest_browsereval.graders.values import describe_invalid
from pytest_browsereval.model import messages as ours
from pytest_browsereval.model.messages import Message
from pytest_browsereval.model.results import EvalWarning

# Types of the form of the design documents, which is ours as well.
DESIGNED = frozenset(
    ("user", "assistant", "tool_call", "tool_result", "error", "delegation", "delegation_result")
)

# The tool of the orchestrator.
DELEGATE = "delegate"


class _EventLog:
    """Reads the events of a log one by one."""

    def __init__(self) -> None:
        # Unfinished texts by their ids: timestamp and parts.
        self.texts: dict[str, tuple[str, list[str]]] = {}
        # The current delegation: the events of its executor follow without a mark of their own.
        self._span: str | None = None
        self.unplaced = 0

    def read(self, value: Any) -> Iterator[Message]:
        """Yield the messages of a line.

        Raises:
            ValueError: it is not a message of either form.
            KeyError: it lacks something.
        """
        kind = value.get("type") if isinstance(value, dict) else None
        if not isinstance(kind, str):
            raise ValueError("a message is a block with a type.")  # noqa: TRY004 as all that is wrong
        if kind in DESIGNED and not (kind == "error" and "errorText" in value):
            if "timestamp" not in value:
                raise ValueError(f"the {kind} has no timestamp.")
            yield ours.message_adapter.validate_python(value)
        else:
            yield from self._read_event(kind, value)

    def _read_event(  # noqa: C901 a table of events
        self, kind: str, event: dict[str, Any]
    ) -> Iterator[Message]:
        """Yield the messages of an event of the released form."""
        key = str(event.get("id"))
        match kind:
            case "start" | "start-step" | "finish-step" | "finish" | "tool-input-start" | "tool-input-delta":
                pass  # other events say it too
            case "source-url" | "file":
                self.unplaced += 1
            case "error":
                yield ours.ErrorMessage(content=event["errorText"], timestamp=_time(event))
            case "abort":
                content = f"aborted: {event.get('reason') or 'without a reason'}"
                yield ours.ErrorMessage(content=content, timestamp=_time(event))
            case "text-start" | "reasoning-start":
                yield from self.end_text(key)
                self.texts[key] = (_time(event), [])
            case "text-delta" | "reasoning-delta":
                self.texts.setdefault(key, (_time(event), []))[1].append(str(event["delta"]))
            case "text-end" | "reasoning-end":
                yield from self.end_text(key)
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
                raise ValueError(f"the type {kind!r} belongs to neither BrowserOS format.")

    def end_text(self, key: str) -> Iterator[Message]:
        """Yield a text whose parts are all there."""
        timestamp, parts = self.texts.pop(key, ("", []))
        if text := "".join(parts):
            yield ours.AssistantMessage(content=text, timestamp=timestamp, parent_id=self._span)

    def _call(self, event: dict[str, Any]) -> Message:
        call, tool, given, at = event["toolCallId"], event["toolName"], event["input"], _time(event)
        instruction = given.get("instruction") if isinstance(given, dict) else None
        if tool == DELEGATE and isinstance(instruction, str) and isinstance(call, str):
            self._span = call
            return ours.DelegationMessage(
                instruction=instruction, executor_id=call, span_id=call, timestamp=at
            )
        params = given if isinstance(given, dict) else {"input": given}
        return ours.ToolCallMessage(
            tool=tool, tool_call_id=call, params=params, parent_id=self._span, timestamp=at
        )

    def _result(self, event: dict[str, Any], output: Any, *, is_error: bool) -> Message:
        """Return the result of a call, or the report that the current delegation ends with."""
        call = event["toolCallId"]
        if call is None or call != self._span:
            return ours.ToolResultMessage(
                tool_call_id=call,
                result=output,
                is_error=is_error,
                screenshot=event.get("screenshot"),
                parent_id=self._span,
                timestamp=_time(event),
            )
        self._span = None
        said = output if isinstance(output, dict) else {"observation": output}
        summary = str(said.get("observation", ""))
        if "status" not in said or "actionsPerformed" not in said:  # its status is not known
            message = f"the delegation {call} ended without a report: {summary}"
            return ours.ErrorMessage(content=message, span_id=call, timestamp=_time(event))
        return ours.DelegationResultMessage(
            executor_id=call,
            span_id=call,
            summary=summary,
            status=said["status"],
            steps_used=said["actionsPerformed"],
            current_url=said.get("url"),
            timestamp=_time(event),
        )


def _time(event: dict[str, Any]) -> str:
    """Return the timestamp of an event; empty if it has none, for the time of reading is not it."""
    given = event.get("timestamp", "")
    try:
        return ours.check_time(given if isinstance(given, str) else repr(given))
    except ValueError as error:
        raise ValueError(f"timestamp: {error}.") from None


def read_log(path: Path) -> tuple[list[Message], tuple[EvalWarning, ...]]:
    """Return the messages of a log, and what of it could not be taken over.

    Raises:
        UsageError: it is missing, or a line is not a message of either form; the error has file and line.
    """
    if not path.is_file():
        raise wrong(path, "is missing.")
    log, messages, notes = _EventLog(), list[Message](), list[str]()
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        where = f"{format_path(path)}:{number}"
        try:
            if line.strip():
                messages += log.read(json_value(line.decode()))
        except (DocumentError, UnicodeDecodeError) as error:
            if number < len(lines):  # a line that is complete has an end
                raise UsageError(f"{where}: {error}") from None
            notes.append("the last line of messages.jsonl was cut off and is left out")
        except ValidationError as error:
            raise UsageError(f"{where}: {describe_invalid(error)}.") from None
        except KeyError as error:
            raise UsageError(f"{where}: the {json_value(line.decode())['type']} has no {error}.") from None
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from None
    messages += [message for key in list(log.texts) for message in log.end_text(key)]
    if log.unplaced:
        notes.append(f"{log.unplaced} events (file, source-url) of messages.jsonl are left out")
    source = ErrorSource.MESSAGE_LOGGING
    return messages, tuple(EvalWarning(source=source, message=note, timestamp="") for note in notes)
