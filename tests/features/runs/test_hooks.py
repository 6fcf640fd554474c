"""What the feature does in each session of pytest."""

from __future__ import annotations

import pytest

from tests.hooks.small_evals import Evals, row


def test_run_folders_hold_no_tests(evals: Evals) -> None:
    """Whatever a run has left: neither a test nor an eval in there is run, unless somebody names it."""
    folder = evals.play([row("a")]).folder
    planted = folder / "tasks" / "test_planted.py"
    planted.write_text("def test_planted(): pass")
    (folder / "planted.eval.yaml").write_text("dataset: rows.jsonl")
    evals.run().assert_outcomes(passed=1)
    assert evals.run("--co", "-q", str(planted)).ret == pytest.ExitCode.OK
