"""Models that answer oddly, in a whole run: each row is judged by what was reached, and nothing is left."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.testing import Call, ModelRequest, Reply, ScriptedModel, call, calls, done, says
from tests.features.mcp_browser import odd
from tests.hooks.launched import Launched, metadata
from tests.hooks.small_evals import Evals, row

LIMIT = 30
FIRST = {
    "unknown": calls(call("lok")),
    "broken": calls(Call("look", '{"at": ')),
    "forty": calls(*(call("look") for _ in range(40))),
    "empty": says(""),
}
"""What the model replies first, by row."""


class Model:
    """A model that begins oddly, goes on the same if it is empty, and else comes to its senses."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.told: dict[str, str] = {}
        """What stood last in the last request about each row."""

    def __call__(self, request: ModelRequest) -> Reply:
        name = request.text.partition("answer of ")[2].partition(".")[0]
        self.asked[name] += 1
        self.told[name] = request.last_text
        return FIRST[name] if self.asked[name] == 1 or name == "empty" else done("right")


def results(folder: Path, query_id: str) -> list[dict[str, Any]]:
    (log,) = folder.glob(f"tasks/{query_id}/*/1/attempt-1/messages.jsonl")
    messages = [json.loads(line) for line in log.read_text().splitlines()]
    return [each["result"] for each in messages if each["type"] == "tool_result"]


def came_to(data: TaskMetadata) -> tuple[str, str | None, str, str | None, int]:
    return data.verdict, data.error_source, data.termination_reason, data.final_answer, data.total_steps


@pytest.mark.slow
def test_odd_replies_are_the_models_own_affair(evals: Evals) -> None:
    """What is wrong with a call is told and costs a step; none of it is an error, nor the end of the run."""
    evals.write_rows(*(row(name) for name in FIRST))
    model = Model()
    with ScriptedModel(model) as server:
        agent = {"type": "single", "model": "m", "base_url": server.base_url}
        browser = {"type": "mcp", "command": [*odd.PROGRAM, "stdio"], "tools": odd.USES}
        evals.write_config(agent=agent, browser=browser, lanes=2, retries=1, limits={"max_steps": LIMIT})
        run = Launched(evals, "shop.eval.yaml")
        code = run.wait()
    run.assert_nothing_left()
    assert code == pytest.ExitCode.TESTS_FAILED, run.output
    folder = evals.run_folder()
    found = {name: metadata(folder, name) for name in FIRST}
    assert {name: came_to(data) for name, data in found.items()} == {
        "unknown": ("passed", None, "completed", "right", 1),
        "broken": ("passed", None, "completed", "right", 1),
        "forty": ("failed", None, "max_steps", None, LIMIT),
        "empty": ("failed", None, "completed", None, 0),
    }
    assert model.asked == {"unknown": 2, "broken": 2, "forty": 1, "empty": 2}  # nothing is tried again
    assert "unknown tool 'lok'. Did you mean 'look'?" in model.told["unknown"]
    assert results(folder, "unknown")[0]["ok"] is False
    assert "JSON" in model.told["broken"]
    assert results(folder, "broken")[0]["ok"] is False
    assert [each["ok"] for each in results(folder, "forty")] == [True] * LIMIT
    assert "Your reply was empty" in model.told["empty"]
    assert [warning.message for warning in found["empty"].warnings] == [
        "the model ended twice with an empty reply"
    ]
    summary = evals.summary()
    assert (summary["passed"], summary["failed"], summary["errored"]) == (2, 2, 0)
    assert not [*(folder / "in-flight").glob("*"), *(evals.path / "tmp").iterdir()]
