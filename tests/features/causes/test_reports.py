"""Where a cause is shown: in failures, JUnit, the run's summary, GitHub's, and to whoever reads a run."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from pytest_browsereval import open_run
from tests.features.causes.played import click, done, write_attempt, write_manifest
from tests.hooks.small_evals import Evals, errored_row, row
from tests.recorded import FAILED, attempt

CAUSE = "cause    likely wrong row; at step 1: answers 'wrong', as the solution does"
COUNTED = "causes of failed: 2 likely wrong row, 1 likely gave up;"


def write_shop(evals: Evals) -> None:
    evals.write_rows(
        row("tea"), row("mug", says="wrong"), row("cup", says="wrong"), row("pen", says="I can't.")
    )
    evals.write_config()


def test_where_a_cause_is_shown(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a line of a failure and in JUnit's properties; what failures share is counted, for GitHub too."""
    write_shop(evals)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(evals.path / "summary.md"))
    lines = evals.run("shop.eval.yaml", "--junit-xml=junit.xml").outlines
    assert lines.count(CAUSE) == 2
    assert [line.startswith(COUNTED) for line in lines].count(True) == 1
    assert f"- {COUNTED}" in (evals.path / "summary.md").read_text()
    cases = ET.parse(evals.path / "junit.xml").iter("testcase")  # noqa: S314 our own file
    found = {
        case.get("name"): {p.get("name"): p.get("value") for p in case.iter("property")} for case in cases
    }
    assert (found["mug"]["cause"], found["mug"]["first_wrong_step"]) == ("wrong_row", "1")
    assert "cause" not in found["tea"]


def test_one_failure_is_not_counted(evals: Evals) -> None:
    """Nothing is shared by one failure and one error; an errored row has no line for what broke."""
    evals.write_rows(row("mug", says="wrong"), errored_row("far"))
    evals.write_config()
    lines = evals.run("shop.eval.yaml").outlines
    assert [line for line in lines if line.startswith("cause")] == [CAUSE]


def test_errors_are_counted_apart(evals: Evals) -> None:
    """Two attempts that broke by the same have a line of their own."""
    evals.write_rows(*map(errored_row, "ab"), row("mug", says="wrong"), row("cup", says="wrong"))
    evals.write_config()
    lines = [line for line in evals.run("shop.eval.yaml", "-q").outlines if line.startswith("causes of")]
    assert [line.partition(";")[0] for line in lines] == [
        "causes of failed: 2 likely wrong row",
        "causes of errored: 2 errored (navigation)",
    ]


def test_without_the_feature(evals: Evals) -> None:
    """It can be left out: nothing of it is shown, and all else is."""
    write_shop(evals)
    result = evals.run("shop.eval.yaml", "-p", "no:browsereval.causes")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert not [line for line in result.outlines if line.startswith("cause")]


def test_the_cause_in_python(tmp_path: Path) -> None:
    """Whoever reads a run gets the cause of an attempt, and None of one that passed."""
    run = tmp_path / "results/shop/20260101T000000Z-aaaaaa"
    write_manifest(run)
    way = (click("Red mug", "link"), done())
    write_attempt(run, (click("Blue cup", "link"), done()), solution=way)
    write_attempt(run, way, attempt("sell"), solution=way)
    bad, good = open_run(run).attempts
    assert bad.verdict is FAILED
    assert bad.cause is not None
    assert (bad.cause.name, bad.cause.step, bad.cause.detail) == ("wrong_target", 1, "clicks 'Red mug'")
    assert good.cause is None
