"""The queries of the example, each over tables whose answers are known, and its notebook as a whole."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.capture.message_log import MessageLogger
from pytest_browsereval.model.derived import Derived
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.model.messages import ToolCallMessage, ToolResultMessage
from pytest_browsereval.runs.run import StoredRun
from tests.hooks.conftest import evals
from tests.hooks.small_evals import Evals
from tests.recorded import ERRORED, FAILED, PASSED
from tests.runs.test_run import add

__all__ = ["evals"]

EXAMPLE = Path(__file__).parents[2] / "examples/analysis"

pytestmark = pytest.mark.interop

SCORES = {PASSED: 1.0, FAILED: 0.0, ERRORED: None}


def grades(rule: Verdict, judge: Verdict) -> dict[str, Any]:
    """Return what a rule and a judge say of an attempt."""
    found = {"answer": rule, "rubric": judge}
    return {
        name: GraderResult(grader=name, verdict=verdict, score=SCORES[verdict])
        for name, verdict in found.items()
    }


def add_trial(run: Path, query_id: str, verdict: Verdict, **more: Any) -> Path:
    """Write an attempt of a model that costs a cent, and return its folder."""
    given = {
        "protected": False,
        "cost_usd": 0.01,
        "website": "shop",
        "row_hash": "1",
        "agent_config": {"type": "single", "provider": "openai", "model": "small"},
        "grader_results": grades(verdict, verdict),
    }
    return add(run, query_id, verdict, **{**given, **more})


def log_steps(folder: Path, *failing: int, count: int) -> None:
    """Write the log of clicks, of which some fail."""
    log = MessageLogger(folder)
    for number in range(1, count + 1):
        log.log(ToolCallMessage(tool="click", tool_call_id=str(number), params={"target": "e1"}))
        log.log(ToolResultMessage(tool_call_id=str(number), result="so", is_error=number in failing))
    log.close()


@pytest.fixture(scope="module", autouse=True)
def _keep_extensions() -> None:
    """Import what is written in C before a test's own pytest comes and goes: a second import aborts."""
    import duckdb
    import pandas as pd
    import pyarrow.parquet

    assert duckdb.__version__
    assert pd.__version__  # pyarrow keeps types of the first one
    assert pyarrow.__version__


@pytest.fixture
def tables(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make two runs a week apart, export them, and stay in the folder that has the tables."""
    home = evals.path / "results/shop"
    old, new = home / "20260501T100000Z-aaaaaa", home / "20260508T110000Z-bbbbbb"
    at = {"completed_at": "2026-05-01T10:00:00Z"}
    add_trial(old, "buy", PASSED, **at)
    add_trial(old, "find", FAILED, **at)
    add_trial(old, "edited", FAILED, **at)
    log_steps(add_trial(old, "office", ERRORED, website="office", **at), 1, count=1)
    at = {"completed_at": "2026-05-08T11:00:00Z"}
    log_steps(add_trial(new, "buy", FAILED, grader_results=grades(FAILED, PASSED), **at), 2, 3, count=4)
    log_steps(add_trial(new, "find", PASSED, **at), 4, count=5)
    add_trial(new, "edited", PASSED, row_hash="2", **at)
    add_trial(new, "office", ERRORED, website="office", **at)
    at_risk = {"derived": Derived("attack", "review", "buy"), "website": "shop", **at}  # in no answer
    log_steps(add_trial(new, "buy.under.review", FAILED, **at_risk), 1, count=1)
    large = {"agent_config": {"type": "single", "model": "large"}, "cost_usd": None}
    add_trial(new, "office", PASSED, website="office", **large, **at)
    for run in (old, new):
        (run / "manifest.json").write_text(json.dumps({"name": "shop"}))
        assert evals.run_command("export", str(run), "--to", "parquet").ret == 0
    shutil.copytree(EXAMPLE / "queries", evals.path / "queries")
    monkeypatch.chdir(evals.path)
    return evals.path


def ask(name: str) -> list[tuple[Any, ...]]:
    """Return the answer to a query of the example."""
    import duckdb

    with duckdb.connect() as connection:
        query = (EXAMPLE / f"queries/{name}.sql").read_text(encoding="utf-8")
        found: list[tuple[Any, ...]] = connection.sql(query).fetchall()
    return found


ANSWERS: dict[str, list[tuple[Any, ...]]] = {
    "failing_sites": [("shop", 6, 3, 0.5, 0), ("office", 1, 0, 0.0, 1)],
    "cost_by_model": [
        ("large", "default", 1, 1.0, None, None, 1),
        ("small", "default", 6, 0.5, 0.08, 0.026667, 0),
    ],
    "first_error": [("click", 3, 2.0, 0.5)],
    "judge_against_rules": [("answer", "rubric", 7, 0, 1, 0.857, 0.696)],
    "since_last_week": [
        ("shop", "buy", "default", 1.0, 0.0, 1, 1),
        ("shop", "find", "default", 0.0, 1.0, 1, 1),
    ],
}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_query_answers_its_question(tables: Path, name: str) -> None:
    """By numbers that are worked out by hand."""
    assert ask(name) == ANSWERS[name]


def test_the_documented_query_has_the_rates_of_the_runs(tables: Path) -> None:
    """As their summaries have them: errored trials and those under attack are in neither."""
    import duckdb

    page = (EXAMPLE.parents[1] / "docs/how-to/export-and-import.md").read_text(encoding="utf-8")
    (query,) = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    with duckdb.connect() as connection:
        found = {run: rate for _, run, _, rate, *_ in connection.sql(query).fetchall()}
    runs = sorted((tables / "results/shop").iterdir())
    assert found == {run.name: StoredRun(run).summary.pass_rate for run in runs}


def test_the_notebook_runs(tables: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Cell by cell, as a kernel runs it; it is stored without output."""
    notebook = json.loads((EXAMPLE / "analysis.ipynb").read_text(encoding="utf-8"))
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["outputs"] for cell in cells] == [[]] * len(cells)
    names: dict[str, Any] = {}
    for number, cell in enumerate(cells):
        code = compile("".join(cell["source"]), f"cell {number}", "exec")
        exec(code, names)  # noqa: S102 the example's own
    printed = capfd.readouterr().out
    assert "share_failed" in printed
    assert "shop: pass rate 0.75" in printed
