"""A judge that people disagree with: found out by labels, then told beside the others without deciding."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.testing import ScriptedModel, says
from tests import labelled
from tests.hooks.small_evals import Evals, row

STRICT = json.dumps({"reasoning": "I like none of it.", "verdict": "not_success"})


def test_a_judge_below_the_bar_becomes_advisory(evals: Evals, capsys: pytest.CaptureFixture[str]) -> None:
    """Its fails decide until labels show that it is wrong; marked as advisory it decides nothing any more."""
    evals.write_rows(row("good"), row("bad", says="wrong"))
    with ScriptedModel(lambda _: says(STRICT)) as server:
        keys: dict[str, Any] = {"judge": {"model": "scripted", "base_url": server.base_url}, "lanes": 2}
        evals.write_config(graders=["answer", "webvoyager"], **keys)
        evals.run("shop.eval.yaml").assert_outcomes(failed=2)
        run = evals.run_folder()
        people = [labelled.says("good", "pass", "anna"), labelled.says("bad", "fail", "anna")]
        labelled.write_labels(run / "labels.jsonl", *people)
        assert main(["calibrate", str(run), "--min-kappa", "0.6"]) == 1
        told = capsys.readouterr().out
        assert "NOT MET: webvoyager (webvoyager/" in told
        assert "met: answer (answer/" in told
        assert "`advisory: true`" in told
        evals.write_config(graders=["answer", {"type": "webvoyager", "advisory": True}], **keys)
        evals.run("--eval-config=shop.eval.yaml", f"--eval-regrade={run}").assert_outcomes(passed=1, failed=1)
        assert len(server.requests) == 2
    grades = {trial["query_id"]: trial["grades"] for trial in evals.summary()["results"]}
    assert grades["good"]["webvoyager"]["verdict"] == "failed"
    assert main(["calibrate", str(run), "--min-kappa", "0.6"]) == 0
    assert " · advisory" in capsys.readouterr().out
    assert main(["calibrate", str(run), "--min-kappa", "0.6", "--grader", "webvoyager"]) == 1
