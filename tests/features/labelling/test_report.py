"""Graders against people, told: whatever rows and models wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_browsereval.features.labelling.calibration import Bar, calibrate, hold
from pytest_browsereval.features.labelling.labels import read_labels
from pytest_browsereval.features.labelling.report import make_report
from pytest_browsereval.features.shared.report_text import draw_report
from pytest_browsereval.model.display import width_of
from pytest_browsereval.runs.run import StoredRun
from tests.labelled import grade, graded, says, write_labels, write_run
from tests.recorded import ERRORED, FAILED

PRINT = "webvoyager/1/gpt-4o/0123456789ab"


def test_the_report_has_every_figure(tmp_path: Path) -> None:
    """Counts, people, table, figures with intervals, disagreements and the bar fit 100 columns."""
    judge: dict[str, Any] = {"fingerprint": PRINT, "reasoning": "It is done."}
    attempts = [graded(f"row-{n}", grade("webvoyager", **judge)) for n in range(4)]
    attempts.append(graded("broke", grade("webvoyager", ERRORED, fingerprint=PRINT, reasoning="status 500")))
    attempts.append(graded("lone", grade("answer", FAILED, advisory=True)))
    labels = [says(f"row-{n}", ("pass", "fail")[n % 2], "anna") for n in range(4)]
    labels += [says("row-0", "pass", "ben"), says("row-1", "fail", "ben"), says("broke", "fail", "anna")]
    labels += [says("lone", "fail", "anna", saw_grades=True), says("gone", "fail", "anna")]
    run = StoredRun(write_run(tmp_path / "run", *attempts).root)
    found = calibrate([run], read_labels(write_labels(tmp_path / "labels.jsonl", *labels)))
    lines = list(draw_report(make_report(found, hold(found, Bar(min_kappa=0.6)))))
    shown = "\n".join(lines)
    assert "6 of 6 attempts are labelled pass or fail (run)." in shown
    assert "Labels without an attempt in these runs: 1." in shown
    assert "query_id gone" in shown
    assert "1 of 8 labels were given after the labeller had seen the grades." in " ".join(shown.split())
    assert "anna and ben agree on 2 of 2 (100.0%, 34.2% to 100.0%), kappa 1.00" in " ".join(shown.split())
    assert f"webvoyager · {PRINT}" in lines
    assert "compared 4 of 6 labelled attempts, 1 errored, 1 not graded by it" in lines
    table = [line.split() for line in lines]
    assert ["grade", "passed", "2", "2"] in table
    assert ["grade", "failed", "0", "0"] in table
    figures = {
        line.split()[0]: " ".join(line.split()[1:5])
        for line in reversed(lines)
        if "%" in line and " to " in line
    }
    assert figures["accuracy"] == "50.0% 15.0% to 85.0%"
    assert figures["FPR"] == "100.0% 34.2% to 100.0%"
    assert any(line.startswith("kappa") and "0.00" in line for line in lines)
    assert "row-1: label fail, grade passed. It is done." in lines
    assert "broke: label fail, grade errored. status 500" in lines
    assert "answer · advisory" in lines
    assert "NOT MET: webvoyager" in shown
    assert "`advisory: true`" in shown
    paths = str(tmp_path)
    assert max(width_of(line) for line in lines if paths not in line) <= 100
