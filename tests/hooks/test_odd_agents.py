"""Agents of plug-ins that break: whose fault it is, where it stands, and that the others go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.model import messages
from tests.hooks.launched import metadata
from tests.hooks.small_evals import Evals, errored_row, row

PLUGIN = """
import asyncio
import json
from types import SimpleNamespace
from typing import Literal
from pytest_browsereval import AgentConfig, AgentEvaluator, AgentResult, TerminationReason

class OddConfig(AgentConfig):
    type: Literal["odd"] = "odd"

    def build(self, context):
        name = context.task.query_id
        if name == "unbuilt":
            return 5
        if name == "sync":
            return SimpleNamespace(execute=lambda: AgentResult("right"))
        return Odd(context)

async def interrupts():
    raise KeyboardInterrupt("mine")

RETURNED = {
    "text": "right",
    "number": AgentResult(5),
    "reason": AgentResult("right", "finished"),
    "messages": AgentResult("right", messages=[{"type": "user"}]),
    "note": AgentResult("right", note=None),
    "stops": AgentResult(None, TerminationReason.MAX_STEPS),
}

class Odd(AgentEvaluator):
    def __init__(self, context):
        self.context = context

    async def execute(self):
        name = self.context.task.query_id
        if name == "task":
            await asyncio.create_task(interrupts())
        if name == "exits":
            async with asyncio.TaskGroup() as group:
                group.create_task(interrupts())
        if name == "waits":
            await asyncio.sleep(1000)
        if name == "steps":
            while True:
                await self.context.tools.call("list_tabs")
        return RETURNED.get(name) or AgentResult("right")

def pytest_browsereval_register(registry):
    registry.register(OddConfig)

def pytest_browsereval_message(node_id, message):
    with open("heard.jsonl", "a") as file:
        file.write(json.dumps([node_id, message.type, getattr(message, "content", "")]) + "\\n")
"""


@pytest.fixture
def odd(evals: Evals) -> Evals:
    """Return evals of the odd agent."""
    evals.pytester.makeconftest(PLUGIN)
    return evals


def lines(folder: Path, query_id: str) -> list[dict[str, Any]]:
    """Return the log of a row's only attempt."""
    (log,) = folder.glob(f"tasks/{query_id}/default/1/attempt-1/messages.jsonl")
    return [json.loads(line) for line in log.read_text().splitlines()]


WRONG = {
    "text": "the agent returned 'right', which is not an AgentResult.",
    "number": "the agent returned the final_answer 5, which is not a string.",
    "reason": "the agent returned the termination_reason 'finished', which is not one of completed",
    "messages": "the agent returned the messages [{'type': 'user'}], which are not a tuple of messages.",
    "note": "the agent returned the note None, which is not a string.",
    "unbuilt": "the agent was not built: int has no `execute`.",
    "sync": "the agent cannot be awaited: `execute` of SimpleNamespace is not async.",
    "task": "the agent raised KeyboardInterrupt: mine",
    "exits": "the agent raised KeyboardInterrupt: mine",
}


@pytest.mark.parametrize("lanes", [1, 3])
def test_what_an_agents_code_does_is_its_own_fault(odd: Evals, lanes: int) -> None:
    """A wrong type and a ``KeyboardInterrupt`` are errors of source *agent*; the rows beside them pass."""
    names = [name for wrong in WRONG for name in (wrong, f"after {wrong}")]
    run = odd.play([row(name) for name in names], agent="odd", lanes=lanes)
    assert run.ret == pytest.ExitCode.TESTS_FAILED
    run.result.assert_outcomes(passed=len(WRONG), errors=len(WRONG))
    results = {result["query_id"]: result for result in odd.summary()["results"]}
    for name, told in WRONG.items():
        assert results[name]["error_source"] == "agent", results[name]
        assert results[name]["reason"].startswith(told)
    assert "never retrieved" not in run.stderr.str()


def test_the_log_ends_with_what_broke(odd: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Faults and limits are the last line of the log, which hooks hear, and an error of the metadata."""
    monkeypatch.setattr(messages, "now", lambda: "2000-01-01T00:00:00.000Z")  # not that of the line
    rows = *map(row, ("text", "waits", "steps", "stops")), errored_row("closed")
    run = odd.play(rows, agent="odd", limits={"timeout_ms": 1000, "max_steps": 2})
    told = {
        "text": ("agent", WRONG["text"]),
        "waits": ("agent", "stopped: limits.timeout_ms is 1000"),
        "steps": ("agent", "stopped: limits.max_steps is 2; all were used"),
        "stops": ("agent", "stopped: max_steps, by the agent's own account"),
        "closed": ("navigation", "a blank window has no page"),
    }
    heard = [json.loads(line) for line in (odd.path / "heard.jsonl").read_text().splitlines()]
    for name, (source, text) in told.items():
        last = lines(odd.run_folder(), name)[-1]
        assert (last["type"], last["errorCode"]) == ("error", source)
        assert last["content"].startswith(text)
        (error,) = metadata(odd.run_folder(), name).errors
        assert (error.source, error.message, error.timestamp) == (source, last["content"], last["timestamp"])
        node = f"shop.eval.yaml::{name}"
        assert [each for each in heard if each[0] == node][-1] == [node, "error", last["content"]]
    assert run.ret == pytest.ExitCode.TESTS_FAILED
