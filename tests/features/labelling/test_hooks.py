"""A run that a calibrated judge decides: the pass rate, and beside it the one corrected for its errors."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, says
from tests.hooks.launched import metadata
from tests.hooks.small_evals import Evals, row


def by_the_answer(request: ModelRequest) -> Reply:
    """Judge by what the agent says; the row's own answer stands there too."""
    is_right = re.search(r"\[final answer of the agent \w+\]\nright\n", request.text)
    return says(json.dumps({"reasoning": "I looked.", "verdict": "success" if is_right else "not_success"}))


def calibration(evals: Evals, fingerprint: str) -> None:
    """Write what labels say: it passes 27 of 30 that people pass and fails 25 of 30 that people fail."""
    counts = {"true_positive": 27, "false_positive": 5, "true_negative": 25, "false_negative": 3}
    judge = {"grader": "webvoyager", "fingerprint": fingerprint, "confusion": counts}
    (evals.path / "cal.json").write_text(json.dumps({"graders": [judge]}))


def test_a_corrected_rate_stands_beside_the_pass_rate(evals: Evals) -> None:
    """In the terminal and in the summary, with its denominators; by another judge's labels it is refused."""
    evals.write_rows(row("good"), row("bad", says="wrong"))
    with ScriptedModel(by_the_answer) as server:
        keys: dict[str, Any] = {
            "judge": {"model": "scripted", "base_url": server.base_url},
            "graders": ["webvoyager"],
        }
        evals.write_config(**keys)
        evals.run("shop.eval.yaml").assert_outcomes(passed=1, failed=1)
        calibration(evals, metadata(evals.run_folder(), "good").grader_results["webvoyager"].fingerprint)
        evals.write_config(**keys, calibration="cal.json")
        again = evals.run("shop.eval.yaml", "--eval-regrade=latest")
        again.assert_outcomes(passed=1, failed=1)
        told = " ".join(again.stdout.str().split())
        assert "pass rate 50.0% (1 of 2 judged)" in told
        assert (
            "pass rate corrected for errors of webvoyager: 45.5% (95 % interval 0.0 to 100.0%) of the 2 "
            "judged trials that it decides alone; by 60 labelled attempts it passes 27 of 30" in told
        )
        (found,) = evals.summary()["pass_rate_corrected"]
        assert found["value"] == pytest.approx(5 / 11)
        assert (found["passed"], found["judged"], found["labels"]) == (1, 2, 60)
        assert evals.summary()["pass_rate"] == 0.5
        calibration(evals, "webvoyager/1/another/0123")
        other = evals.run("shop.eval.yaml", "--eval-regrade=latest")
        told = " ".join(other.stdout.str().split())
        assert "pass rate not corrected for errors of webvoyager: it is not the judge that was" in told
        assert evals.summary()["pass_rate_corrected"][0]["value"] is None


def test_a_calibration_that_cannot_be_read_stops_before_anything_is_spent(evals: Evals) -> None:
    """Exit code 4 with file and line, and no run folder."""
    evals.write_rows(row("a"))
    evals.write_config(calibration="cal.json")
    result = evals.run("shop.eval.yaml")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*shop.eval.yaml:*: calibration: *cal.json is not a calibration*"])
    assert not (evals.path / "results").exists()


def test_a_calibration_without_its_feature_is_refused(evals: Evals) -> None:
    """A key without an effect would look like a rate that needs no correction."""
    evals.write_rows(row("a"))
    evals.write_config(calibration="cal.json")
    result = evals.run("shop.eval.yaml", "-p", "no:browsereval.labelling")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*shop.eval.yaml:*: calibration: the feature that acts on this key is*"])
