"""What the documentation shows on ``attempts/*.jsonl``: pandas and DuckDB count a run as its summary does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_browsereval.run.store import RunStore
from tests.hooks.conftest import evals
from tests.hooks.small_evals import Evals, row

__all__ = ["evals"]

PAGE = Path(__file__).parents[2] / "docs/reference/run-folder.md"

AGENT = """
def solve(context):
    if context.task.query_id == "7":
        return "wrong"
    if context.task_output_dir.name == "attempt-1":
        raise OSError("not yet")
    return "right"
"""

pytestmark = pytest.mark.interop


def test_the_lines_of_a_run_in_pandas_and_duckdb(evals: Evals, capsys: pytest.CaptureFixture[str]) -> None:
    """The highest revision of the last attempt of each trial; ``007`` and ``7`` are two rows."""
    duckdb = pytest.importorskip("duckdb")
    (evals.path / "flaky.py").write_text(AGENT)
    evals.write_rows(row("007"), row("7"))
    evals.write_config(agent={"type": "function", "function": "flaky:solve"}, retries=1)
    run = evals.run().folder
    assert evals.run(f"--eval-regrade={run}").ret == 1
    # A retry, and a second revision of the last attempt.
    assert len(RunStore(run).run.update_lines().list_history("tasks/007/default/1")) == 3
    text = PAGE.read_text(encoding="utf-8").replace("results/shop/RUN", str(run))
    python, sql = (
        re.search(rf"```{name}\n(.*?read_json.*?)```", text, re.DOTALL) for name in ("python", "sql")
    )
    assert python is not None
    assert sql is not None
    exec(python[1], {})  # noqa: S102 what the documentation shows
    printed = capsys.readouterr().out
    counts = {"passed": 1, "failed": 1}
    assert dict(re.findall(r"^(passed|failed|errored) +(\d)", printed, re.MULTILINE)) == {
        name: str(count) for name, count in counts.items()
    }
    assert dict(duckdb.sql(sql[1].rstrip().rstrip(";")).fetchall()) == counts
