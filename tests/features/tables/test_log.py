"""A log is read as dicts only where messages would say the same, and nothing is damaged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval import open_run
from pytest_browsereval.features.tables.log import parse_log
from pytest_browsereval.model.messages import message_adapter
from pytest_browsereval.run.stored import read_log
from tests.exported import mixed_run

__all__ = ["mixed_run"]

AT = "2026-11-26T07:00:00.000Z"

USAGE = {"input_tokens": 5, "output_tokens": 1, "cache_read_tokens": 2, "requests": 1, "cost_usd": 0.1}

LINES: dict[str, dict[str, Any]] = {
    "user": {"content": "Buy a mug."},
    "assistant": {"content": "", "usage": USAGE, "duration_ms": 4},
    "tool_call": {"tool": "click", "toolCallId": "1", "params": {"target": {"deep": [1, None]}}},
    "tool_result": {
        "toolCallId": "1",
        "result": [1],
        "isError": False,
        "screenshot": 1,
        "dom": 2,
        "url": "/",
    },
    "error": {"content": "no", "errorCode": "E1", "span_id": "s"},
    "delegation": {"instruction": "go", "executorId": "e", "maxSteps": 3},
    "delegation_result": {
        "executorId": "e",
        "summary": "went",
        "status": "done",
        "stepsUsed": 2,
        "currentUrl": None,
    },
}


def write(kind: str, **more: Any) -> str:
    """Return a line; what is None is left out."""
    line = {"timestamp": AT, "type": kind, **LINES.get(kind, {}), **more}
    return json.dumps({name: value for name, value in line.items() if value is not None})


def read(text: str) -> tuple[Any, list[Any] | None]:
    """Return what messages say of a log, and what is said without them."""
    lines = parse_log(text.encode())
    return read_log(Path(), text.encode()), lines and [message_adapter.validate_python(one) for one in lines]


def test_lines_say_what_messages_say() -> None:
    """All kinds, with all of their fields."""
    (messages, _), lines = read("".join(f"{write(kind)}\n" for kind in LINES))
    assert lines == list(messages)
    assert len(messages) == len(LINES)


def test_logs_of_runs_are_read_so(mixed_run: Path) -> None:
    """None of them goes the slow way."""
    logs = [(one.folder / "messages.jsonl").read_text() for one in open_run(mixed_run).attempts]
    for (messages, _), lines in map(read, filter(None, logs)):
        assert lines == list(messages)


DAMAGED = {
    "no time": write("user", timestamp=None),
    "no such day": write("user", timestamp="2026-02-30T07:00:00.000Z"),
    "no such month": write("user", timestamp="2026-13-01T07:00:00.000Z"),
    "no such hour": write("user", timestamp="2026-11-26T24:00:01.000Z"),
    "an unknown key": write("user", role="user"),
    "an unknown type": write("system", content="x"),
    "no type": json.dumps({"timestamp": AT, "content": "x"}),
    "a field is missing": write("tool_call", params=None),
    "a field of another type": write("tool_call", params=[1]),
    "an unknown status": write("delegation_result", status="ended"),
    "tokens below nought": write("assistant", usage={**USAGE, "input_tokens": -1}),
    "money that is not a number": write("assistant", usage={**USAGE, "cost_usd": float("nan")}),
    "an unknown key of usage": write("assistant", usage={**USAGE, "tokens": 1}),
    "two in a line": f"{write('user')},{write('user')}",
    "one on two lines": write("user").replace(", ", "\n", 1),
    "empty": "",
    "not JSON": "{",
}

ODD = {
    "no time is known": write("user", timestamp=""),
    "a leap day": write("user", timestamp="2028-02-29T07:00:00.000Z"),
    "another zone": write("user", timestamp="2026-11-26T07:00:00+01:00"),
    "tokens without requests": write("assistant", usage={"input_tokens": 5}),
    "names of fields": write("tool_call", toolCallId=None, tool_call_id="1"),
}


@pytest.mark.parametrize("line", DAMAGED.values(), ids=DAMAGED)
@pytest.mark.parametrize("place", [0, 1])
def test_a_damaged_line_is_left_to_messages(line: str, place: int) -> None:
    """They can say which one it is, and what is wrong with it."""
    around = [write("user"), write("error")]
    around.insert(place, line)
    (_, damage), lines = read("".join(f"{one}\n" for one in around))
    assert f":{place + 1} is damaged" in damage
    assert lines is None


@pytest.mark.parametrize("line", ODD.values(), ids=ODD)
def test_an_odd_line_is_left_to_messages(line: str) -> None:
    """It is not damaged, and they run code of ours to read it."""
    (messages, damage), lines = read(f"{line}\n")
    assert (len(messages), damage, lines) == (1, "", None)


@pytest.mark.parametrize("text", ["", write("user"), f"{write('user')}\n{write('user')[:-1]}"])
def test_a_log_without_its_end_is_left_to_messages(text: str) -> None:
    """Whether a cut is damage depends on the rest of the folder."""
    assert parse_log(text.encode()) is None
