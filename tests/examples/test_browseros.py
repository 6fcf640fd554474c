"""A BrowserOS run config and suite as users bring them: unchanged, and played in a local Chromium."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.scripted_model.replies import call, calls, done
from pytest_browsereval.features.scripted_model.server import ModelRequest
from pytest_browsereval.testing import Reply, ScriptedModel
from pytest_browsereval.testing.evals import EvalRun
from tests.features.mcp_browser.odd import USES, served
from tests.hooks.small_evals import Evals

BROWSEROS = Path(__file__).parents[2] / "examples" / "browseros"


def answer(request: ModelRequest) -> Reply:
    """Answer both tasks; an orchestrator hands them on first."""
    if "delegate" in request.tool_names and request.messages[-1]["role"] != "tool":
        return calls(call("delegate", instruction="Read the page, and report what it says of the mug."))
    return done("12.50" if "12.50" in request.text else "7")


def run(
    evals: Evals, config: str, *args: str, browser: str = "--eval-set=browser=playwright"
) -> tuple[EvalRun, dict[str, Any]]:
    """Run a config with its results in the test's folder; return the summary too."""
    out = evals.path / "out"
    options = (f"--eval-config={BROWSEROS / config}", f"--eval-output={out}", *filter(None, (browser,)))
    result = evals.run(*options, *args)
    told = "".join(path.read_text() for path in out.glob("*/*/summary.json"))
    return result, json.loads(told or "{}")


@pytest.mark.slow
def test_a_run_config_is_played(evals: Evals) -> None:
    """The file's tasks, workers and limits hold; the model and the browser come from the command line."""
    with ScriptedModel(answer) as model:
        words = ("provider=openai-compatible", f"baseUrl={model.base_url}", "apiKey=none")
        result, summary = run(evals, "run.json", *(f"--eval-set=agent.{word}" for word in words))
    assert result.ret == 0, result.stdout.str()
    assert (summary["passed"], summary["trials"]) == (2, 2)
    result.stdout.fnmatch_lines(["*browseros.server_url*not used: `browser` selects another browser.*"])


@pytest.mark.slow
def test_a_suite_is_played(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """Orchestrator and executor are both taken from the environment, as BrowserOS's own runner does."""
    with ScriptedModel(answer) as model:
        monkeypatch.setenv("EVAL_AGENT_MODEL", "large")
        monkeypatch.setenv("EVAL_EXECUTOR_MODEL", "small")
        monkeypatch.setenv("EVAL_AGENT_BASE_URL", model.base_url)
        monkeypatch.setenv("EVAL_AGENT_API_KEY", "none")
        monkeypatch.setenv("EVAL_VARIANT", "pair")
        result, summary = run(evals, "suite.json")
    assert result.ret == 0, result.stdout.str()
    assert (summary["passed"], summary["trials"]) == (2, 2)
    assert {request.body["model"] for request in model.requests} == {"large", "small"}
    assert {each["variant"] for each in summary["results"]} == {"pair"}


@pytest.mark.slow
def test_the_server_that_the_file_names_is_driven(evals: Evals, tmp_path: Path) -> None:
    """Windows are opened by the MCP server at ``server_url``, here one that only has other tools' names."""
    uses = json.dumps(USES)
    with served(tmp_path) as url, ScriptedModel(answer) as model:
        words = ["agent.provider=openai-compatible", f"agent.baseUrl={model.base_url}", "agent.apiKey=none"]
        words += [f"browseros.server_url={url}", f"browser.tools={uses}"]
        result, summary = run(evals, "run.json", *(f"--eval-set={word}" for word in words), browser="")
    assert result.ret == 0, result.stderr.str()
    assert (summary["passed"], summary["trials"]) == (2, 2)
    assert {"look", "draw"} <= set(model.requests[0].tool_names)
    result.stdout.fnmatch_lines([f"*browseros.server_url: windows are opened in the browser at {url}/mcp*"])
