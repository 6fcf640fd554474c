"""How many trials had side effects, in all that reports a run, and the rule of the gate."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from pytest_browsereval import open_run
from tests.browsers.conftest import chromium
from tests.features.effects.plays import ORDER, play, row, said_by
from tests.hooks.small_evals import Evals

__all__ = ["chromium"]

PARTS = {"type": "combined", "graders": ["effects", "answer"]}
ROWS = [
    row("order", "Order", effects=ORDER),
    row("twice", "Order", "Order again", "Cancel", effects=ORDER),
    row("logs", "Log", effects="nothing", graders=[{"type": "effects", "others": "warn"}]),
    row("parts", "Cancel", effects="nothing", graders=[PARTS], answer="Done."),
    row("other", effects=None, graders=["answer"], answer="Done."),
]


def test_reports_have_them_by_row_and_kind(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal, the job's summary, `summary.json`, the run's page, JUnit files and tables."""
    junit, markdown = evals.path / "junit.xml", evals.path / "job.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(markdown))
    run = play(evals, *ROWS, args=(f"--junit-xml={junit}",))
    line = "in 3 of 4 judged trials (added 2, changed 2): twice 1, logs 1, parts 1"
    assert f"side effects: {line}" in said_by(run)
    assert f"side effects: {line}" in markdown.read_text()
    figures = json.loads((run.folder / "summary.json").read_text())["side_effects"]
    assert figures == {
        "line": line,
        "trials": 3,
        "judged": 4,
        "by_row": {"logs": 1, "parts": 1, "twice": 1},
        "by_kind": {"added": 2, "changed": 2},
    }
    assert line in (run.folder / "index.html").read_text()
    found = {
        case.get("name"): case.find(".//property[@name='side_effects']")
        for case in ET.parse(junit).iter("testcase")  # noqa: S314 we have written it
    }
    counts = {str(name): None if one is None else one.get("value") for name, one in found.items()}
    assert counts == {"order": "0", "twice": "2", "logs": "1", "parts": "1", "other": None}
    table = open_run(run.folder).table("attempts").to_pylist()
    assert {one["query_id"]: one["side_effects"] for one in table} == {
        name: None if count is None else int(count) for name, count in counts.items()
    }


def test_the_gate_limits_trials_with_side_effects(evals: Evals) -> None:
    """Also those that passed with a warning; rows in quarantine are left out, and no trial meets nothing."""
    rule = {"type": "max_side_effects", "most": 1}
    gate = {"rules": [rule], "min_pass_rate": 0, "quarantine": {"twice": "2999-01-01"}}
    run = play(evals, *ROWS[:3], gate=gate)
    assert run.ret == 0, said_by(run)
    assert "1 of 2 judged trials had side effects, which is within 1" in said_by(run)
    strict = evals.run_command("gate", str(run.folder), "--eval-set", "gate.rules=[{type: max_side_effects}]")
    assert strict.ret == 1
    assert "which is over 0" in said_by(strict)
    idle = play(evals, ROWS[4], gate={"rules": [rule]})
    assert "no judged trial was compared with effects" in said_by(idle)
    assert idle.ret == 1
    refused = play(evals, ROWS[4], gate={"rules": [rule]}, state=None, volatile=[])
    assert "no site has a `state`" in said_by(refused)
    assert refused.ret == 4
