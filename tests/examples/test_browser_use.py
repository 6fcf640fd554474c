"""The browser-use example with the real package, in a virtual environment of its own (``-m browser_use``)."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, says
from tests.environments import make_environment
from tests.hooks.launched import files_with

EXAMPLE = Path(__file__).parents[2] / "examples" / "browser_use"
VERSION = "0.13.14"
KEY = "sk-browser-use-0123456789"

pytestmark = [pytest.mark.browser_use, pytest.mark.timeout(900)]


@pytest.fixture(scope="session")
def python(pytestconfig: pytest.Config) -> Path:
    """Return the Python of an environment with browser-use; it is made once and kept in pytest's cache."""
    given = os.environ.get("BROWSER_USE_PYTHON")
    if given:
        return Path(given)
    assert pytestconfig.cache
    folder = pytestconfig.cache.mkdir(f"browser-use-{VERSION}")
    made = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    mark = folder / "installed"
    if not mark.exists():
        make_environment(folder, f"browser-use=={VERSION}")
        mark.touch()
    return made


def acts(goal: str, **action: Any) -> Reply:
    """Return a reply in browser-use's own protocol: JSON that follows the schema of the request."""
    thoughts = {"evaluation_previous_goal": "", "memory": "", "next_goal": goal}
    return says(json.dumps({**thoughts, "action": [action]})).costing(1_000, 40)


def number_of(button: str, page: str) -> int:
    """Return the number that browser-use has given a button."""
    found = re.search(rf"\[(\d+)\]<button />\s+{button}", page)
    assert found, page
    return int(found[1])


def model(request: ModelRequest) -> Reply:
    """Order the blue mug whatever is asked for, and claim success."""
    if request.body["response_format"]["json_schema"]["name"] != "agent_output":
        raise AssertionError("not browser-use's protocol")
    if "Ordered: Blue mug" in request.last_text:
        return acts("I am done.", done={"text": "It is ordered.", "success": True, "files_to_display": []})
    return acts("I order the mug.", click={"index": number_of("Order the blue mug", request.last_text)})


def test_the_page_is_graded_not_what_it_says(
    pytester: pytest.Pytester, python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It works in the attempt's browser; steps, pictures and usage are recorded; a false success fails."""
    with ScriptedModel(model, api_key=KEY) as server:
        for name, value in {
            "BROWSER_USE_PYTHON": str(python),
            "MODEL": "scripted",
            "MODEL_URL": server.base_url,
            "MODEL_KEY": KEY,
        }.items():
            monkeypatch.setenv(name, value)
        out = pytester.path / "out"
        arguments = ("-p", "no:asyncio", f"--eval-config={EXAMPLE / 'eval.yaml'}", f"--eval-output={out}")
        result = pytester.runpytest_subprocess(*arguments)
        server.assert_finished()
    (run,) = out.glob("browser-use/*")
    told = {row["query_id"]: row for row in json.loads((run / "summary.json").read_text())["results"]}
    assert {name: row["verdict"] for name, row in told.items()} == {
        "order-blue": "passed",
        "order-red": "failed",
    }, result.stdout.str()
    for name in told:
        check_record(run / "tasks" / name / "default" / "1" / "attempt-1")
    assert len(server.requests) == 4
    shown = json.dumps(server.requests[1].messages)
    assert "data:image/" in shown
    assert "Clicked button" in shown
    assert files_with(run, KEY) == []


def check_record(attempt: Path) -> None:
    """Assert that a step, its picture, the words, the usage and the claim were recorded."""
    lines = [json.loads(line) for line in (attempt / "messages.jsonl").read_text().splitlines()]
    (step,) = [line for line in lines if line["type"] == "tool_call"]
    (result,) = [line for line in lines if line["type"] == "tool_result"]
    assert (step["tool"], list(step["params"]), result["isError"]) == ("click", ["index"], False)
    assert (attempt / "screenshots" / f"{result['screenshot']:03}.jpeg").stat().st_size > 1_000
    assert [line["content"] for line in lines if line["type"] == "assistant"] == [
        "I order the mug.",
        "I am done.",
    ]
    metadata = json.loads((attempt / "metadata.json").read_text())
    assert (metadata["final_answer"], metadata["total_steps"]) == ("It is ordered.", 1)
    usage = metadata["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["requests"]) == (2_000, 80, 2)
    assert metadata["warnings"] == []
