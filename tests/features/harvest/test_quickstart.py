"""The fifty rows of the quickstart, harvested from an agent that makes detours; ``pytest -m soak``."""

from __future__ import annotations

import json

import pytest

from tests.features.harvest.wanderer import QUICKSTART, strip_solution, wander_quickstart
from tests.hooks.small_evals import Evals

pytestmark = [pytest.mark.soak, pytest.mark.timeout(1800)]


def test_each_row_gets_a_solution(evals: Evals) -> None:
    """All fifty are proved, none needs more than the agent did, and they pass as a dataset."""
    run = wander_quickstart(evals)
    result = evals.run_command(
        "harvest", str(run.folder), "--to=rows", "--out=new.jsonl", "--json=report.json"
    )
    report = json.loads((evals.path / "report.json").read_text())
    assert (result.ret, report["refused"]) == (0, [])
    assert all(one["steps"] < one["taken"] for one in report["harvested"])
    rows = [json.loads(line) for line in (evals.path / "new.jsonl").read_text().splitlines()]
    given = map(json.loads, (QUICKSTART / "tasks.jsonl").read_text().splitlines())
    assert [strip_solution(row) for row in rows] == [strip_solution(row) for row in given]
    assert "again=1" not in json.dumps([row["solution"] for row in rows if "answer" not in row])
    scripted = evals.run("--eval-config=eval.yaml", "--eval-agent=scripted", "--eval-set=dataset=new.jsonl")
    scripted.assert_outcomes(passed=50)
