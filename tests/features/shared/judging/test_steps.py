from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.features.shared.judging.steps import list_steps
from pytest_browsereval.model.messages import (
    AssistantMessage,
    ToolCallMessage,
    ToolResultMessage,
    UserMessage,
)
from pytest_browsereval.runs.folder import read_messages


def called(number: int, tool: str, **params: Any) -> ToolCallMessage:
    return ToolCallMessage(tool=tool, tool_call_id=f"c{number}", params=params)


def gave(number: int, output: Any, *, is_error: bool = False, **more: Any) -> ToolResultMessage:
    return ToolResultMessage(tool_call_id=f"c{number}", result=output, is_error=is_error, **more)


def test_steps_are_calls_with_their_results(tmp_path: Path) -> None:
    """In the order of the calls, whatever the order of the results; facts only."""
    log = MessageLogger(tmp_path)
    for message in (
        UserMessage(content="Buy."),
        AssistantMessage(content="I look first."),
        called(1, "snapshot"),
        called(2, "click", target="e3", text="x" * 200),
        gave(2, {"ok": False, "output": "no such element"}, is_error=True, duration_ms=12.5),
        gave(1, {"ok": True, "output": "a page"}, screenshot=1, url="http://shop.test/"),
        called(3, "done", answer="42"),
    ):
        log.log(message)
    log.close()
    first, second, third = list_steps(read_messages(tmp_path))
    assert (first.tool, first.text, first.screenshot, first.url) == (
        "snapshot",
        "a page",
        1,
        "http://shop.test/",
    )
    assert (first.thought, second.thought, first.duration_ms) == ("I look first.", "", None)
    assert (second.is_error, second.text, second.duration_ms) == (True, "no such element", 12.5)
    assert not third.is_over
    assert first.line() == "1. snapshot()"
    assert second.line(10) == '2. click(target="e3", text="xxxxxxxxx...) -> failed'
    assert third.line() == '3. done(answer="42") -> no result'
    assert list_steps(read_messages(tmp_path / "gone")) == []
