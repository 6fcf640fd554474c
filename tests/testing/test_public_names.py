"""Public names suffice for a plug-in: a member of each family and hooks, without a look into our modules."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

import pytest_browsereval
from pytest_browsereval import testing
from pytest_browsereval.testing import EvalDriver, ScriptedModel, call, calls, says
from tests.support import LEFT_OUT

PLUGIN = Path(__file__).with_name("nimbus_plugin.py")
ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))


def find_private_imports(source: str) -> list[str]:
    """Return what a module imports from our modules, and not from where public names are."""
    public = {"pytest_browsereval": pytest_browsereval.__all__, "pytest_browsereval.testing": testing.__all__}
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    ours = [node for node in nodes if (node.module or "").split(".")[0] == "pytest_browsereval"]
    names = [(node.module or "", alias.name) for node in ours for alias in node.names]
    return [f"{module}.{name}" for module, name in names if name not in public.get(module, [])]


def test_plugins_and_examples_import_public_names(subtests: pytest.Subtests) -> None:
    """Nobody has to import from a module that may move."""
    cases: list[Path] = [PLUGIN, *EXAMPLES]
    for path in cases:
        with subtests.test(path=path):
            assert find_private_imports(path.read_text(encoding="utf-8")) == []


def test_the_guide_names_what_plugins_import() -> None:
    """Each public name is in the guide to plug-ins."""
    guide = (ROOT / "docs/how-to/plug-ins.md").read_text(encoding="utf-8")
    assert [name for name in pytest_browsereval.__all__ if not re.search(rf"\b{name}\b", guide)] == []


def test_a_plugin_of_public_names_runs(tmp_path: Path) -> None:
    """Agent, judge grader, dataset, browser, toolkit, gate rule and reporter work together."""
    driver = EvalDriver(tmp_path, options=LEFT_OUT)
    (tmp_path / "conftest.py").write_text(PLUGIN.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "sums.csv").write_text("id,task,category\nsum,What is 2 + 3?,easy\n", encoding="utf-8")
    with (
        ScriptedModel([calls(call("add", one=2, other=3)), says("It is 5, dear.")]) as model,
        ScriptedModel([says("yes")]) as judge,
    ):
        server = {"model": "scripted", "api_key": "none"}
        driver.write_config(
            agent={"type": "nimbus/asking", "llm": {**server, "base_url": model.base_url}},
            judge={**server, "base_url": judge.base_url},
            dataset=[{"type": "nimbus/table", "path": "sums.csv"}],
            graders=["nimbus/friendly"],
            browser="nimbus/void",
            toolkits=["nimbus/sums"],
            gate={"rules": [{"type": "nimbus/cheap", "most": 1}]},
            capture={"screenshots": "off"},
            retries=0,
        )
        run = driver.run()
    run.assert_outcomes(passed=3)  # the row, a rule of ours and that of the plug-in
    report = json.loads((run.folder / "report.json").read_text(encoding="utf-8"))
    assert (report["passed"], report["rate"]) == (["sum"], "1 of 1")
    said = [line.rpartition(" ")[2] for line in report["messages"]]
    assert said == ["user", "assistant", "tool_call", "tool_result", "assistant"]
    attempt = run.attempt("sum")
    assert attempt.final_answer == "It is 5, dear."
    assert attempt.grader_results["nimbus/friendly"].reasoning == "yes"
