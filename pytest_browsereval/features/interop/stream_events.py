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

# Events of the released form that others say too.
SAID = frozenset(("start", "start-step", "finish-step", "finish", "tool-input-start", "tool-input-delta"))
UNPLACED = ("file", "source-url")


def read_log(path: Path) -> tuple[list[Message], tuple[EvalWarning, ...]]:
    """Return the messages of a log, and what of it could not be taken over.

    Raises:
        UsageError: it is missing, or a line is not a message of either form; the error has file and line.
    """
    if not path.is_file():
        raise wrong(path, "is missing.")
    messages, notes, left_out = list[Message](), list[str](), 0
    # Unfinished texts by their ids: timestamp and parts.
    texts: dict[str, tuple[str, list[str]]] = {}
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        where = f"{format_path(path)}:{number}"
        value: Any = None
        try:
            value = json_value(line.decode()) if line.strip() else {"type": "start"}
            messages += _read(value, texts)
            left_out += value["type"] in UNPLACED
        except (DocumentError, UnicodeDecodeError) as error:
            if number < len(lines):  # a line that is complete has an end
                raise UsageError(f"{where}: {error}") from None
            notes.append("the last line of messages.jsonl was cut off and is left out")
        except ValidationError as error:
            raise UsageError(f"{where}: {describe_invalid(error)}.") from None
        except KeyError as error:
            raise UsageError(f"{where}: the {value['type']} has no {error}.") from None
        except ValueError as error:
            raise UsageError(f"{where}: {error}") from None
    messages += [message for key in list(texts) for message in _end_text(key, texts)]
    if left_out:
        notes.append(f"{left_out} events ({', '.join(UNPLACED)}) of messages.jsonl are left out")
    source = ErrorSource.MESSAGE_LOGGING
    return messages, tuple(EvalWarning(source=source, message=note, timestamp="") for note in notes)


def _read(  # noqa: C901, PLR0912 a table of events
    value: Any, texts: dict[str, tuple[str, list[str]]]
) -> Iterator[Message]:
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
        return
    key, at = str(value.get("id")), value.get("timestamp", "")  # the time of reading is not its time
    match kind:
        case "text-start" | "reasoning-start":
            yield from _end_text(key, texts)
            texts[key] = (at, [])
        case "text-delta" | "reasoning-delta":
            texts.setdefault(key, (at, []))[1].append(str(value["delta"]))
        case "text-end" | "reasoning-end":
            yield from _end_text(key, texts)
        case "tool-input-available":
            yield _call(value, value["toolName"], value["input"])
        case "tool-input-error":
            yield _call(value, value.get("toolName", "unknown"), value.get("input"))
            yield _result(value, value["errorText"], is_error=True)
        case "tool-output-available":
            output = value["output"]
            is_error = isinstance(output, dict) and output.get("isError") is True
            yield _result(value, output, is_error=is_error)
        case "tool-output-error":
            yield _result(value, value["errorText"], is_error=True)
        case "error":
            yield ours.ErrorMessage(content=value["errorText"], timestamp=at)
        case "abort":
            reason = f"aborted: {value.get('reason') or 'without a reason'}"
            yield ours.ErrorMessage(content=reason, timestamp=at)
        case _ if kind not in SAID and kind not in UNPLACED:
            raise ValueError(f"the type {kind!r} belongs to neither BrowserOS format.")


def _end_text(key: str, texts: dict[str, tuple[str, list[str]]]) -> Iterator[Message]:
    """Yield a text whose parts are all there."""
    timestamp, parts = texts.pop(key, ("", []))
    if text := "".join(parts):
        yield ours.AssistantMessage(content=text, timestamp=timestamp)


def _call(event: dict[str, Any], tool: str, given: Any) -> Message:
    params = given if isinstance(given, dict) else {"input": given}
    at = event.get("timestamp", "")
    return ours.ToolCallMessage(tool=tool, tool_call_id=event["toolCallId"], params=params, timestamp=at)


def _result(event: dict[str, Any], output: Any, *, is_error: bool) -> Message:
    return ours.ToolResultMessage(
        tool_call_id=event["toolCallId"],
        result=output,
        is_error=is_error,
        screenshot=event.get("screenshot"),
        timestamp=event.get("timestamp", ""),
    )
