"""Tools that a browser brings itself: their arguments, their answers, their limits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pytest_browsereval.browsers.base import ForeignResult, ForeignTool
from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.tools import runner as runners
from pytest_browsereval.tools.base import Tool, ToolResult
from pytest_browsereval.tools.foreign import foreign_tools
from pytest_browsereval.tools.runner import runner_for
from tests.support import Run, StillWindow

PRESS = {
    "type": "object",
    "properties": {"target": {"type": "string"}, "times": {"type": "integer", "maximum": 3}},
    "required": ["target"],
    "additionalProperties": False,
}


def outside(schema: dict[str, Any], name: str = "press") -> Tool:
    (made,) = foreign_tools([ForeignTool(name, "Press it.", schema)])
    return made


class OutsideWindow(StillWindow):
    """A window of somebody else's browser."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.under_way = self.most = 0

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> ForeignResult:
        self.calls.append((name, arguments))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(3600 if name == "hang" else 0)
        self.under_way -= 1
        return ForeignResult(ok=name != "fail", output=f"{name} done")


def test_wrong_arguments_are_told() -> None:
    """By the server's own schema, a sentence for each; one that cannot be judged is left to the server."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "'target' is a required property"),
        ({"target": 1}, "target: 1 is not of type 'string'"),
        ({"target": "a", "times": 4}, "times: 4 is greater than the maximum of 3"),
        ({"target": "a", "ref": "b"}, "'ref' was unexpected"),
    ]
    for arguments, told in cases:
        with pytest.raises(ValueError, match=told):
            outside(PRESS).check_arguments(arguments)
    elsewhere = {"properties": {"a": {"$ref": "http://127.0.0.1:9/schema.json"}}}
    for schema in ({"type": "no such type"}, elsewhere):
        assert outside(schema).check_arguments({"a": 1}) == {"a": 1}


def test_they_run_one_at_a_time(run: Run) -> None:
    """In the window, with what it answered as the envelope."""
    window = OutsideWindow()
    runner = runner_for(window)

    async def work() -> list[ToolResult]:
        names = ("press", "fail", "press")
        return list(await asyncio.gather(*(runner(outside(PRESS, name), {"target": "a"}) for name in names)))

    results = run(work())
    assert [(result.ok, result.output) for result in results] == [
        (True, "press done"),
        (False, "fail done"),
        (True, "press done"),
    ]
    assert window.most == 1
    assert window.calls[0] == ("press", {"target": "a"})


def test_a_call_ends_at_the_latest_by_our_limit(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser without a limit of its own holds up nothing."""
    monkeypatch.setattr(runners, "OUTSIDE_S", 0.05)
    result = run(runner_for(OutsideWindow())(outside(PRESS, "hang"), {}))
    assert result == ToolResult(ok=False, output="hang took longer than 0.05 s.")


def test_a_dead_window_is_a_fault(run: Run) -> None:
    """Whatever the last call said."""

    class DeadWindow(OutsideWindow):
        dead = "The browser has gone."

    with pytest.raises(Fault, match="has gone") as caught:
        run(runner_for(DeadWindow())(outside(PRESS), {}))
    assert caught.value.source == ErrorSource.BROWSER
