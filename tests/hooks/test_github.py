"""Runs in a job of GitHub Actions, by its variables."""

from __future__ import annotations

from pathlib import Path

from tests.hooks.launched import go
from tests.hooks.small_evals import Evals, errored_row, row


def job(evals: Evals) -> dict[str, str]:
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(evals.path / "summary.md"),
        "GITHUB_WORKSPACE": str(evals.path),
    }


def test_a_job_gets_a_summary_and_annotations(evals: Evals) -> None:
    """What is in the file before stays; two workers tell it once."""
    (evals.path / "summary.md").write_text("# Earlier step\n")
    evals.rows(row("a"), row("b", says="wrong"), errored_row("c"))
    evals.config(gate={"min_pass_rate": 0.9, "max_error_rate": 1})
    code, output = go(evals, "-n2", env=job(evals))
    assert code == 1, output
    text = (evals.path / "summary.md").read_text()
    assert text.startswith("# Earlier step\n### shop: gate missed (1 of 2 rules)")
    assert text.count("### shop") == 1
    assert "| b |" in text
    lines = [line for line in output.splitlines() if line.startswith("::")]
    assert len(lines) == 3
    assert lines[0].startswith("::error title=gate shop::min_pass_rate: ")
    assert lines[1].startswith("::warning file=rows.jsonl,line=2,title=failed%3A b::")
    assert lines[2].startswith("::warning file=rows.jsonl,line=3,title=errored%3A c::")


def test_without_the_variables_nothing_is_told(evals: Evals) -> None:
    """And a summary that cannot be written is told, no more."""
    evals.rows(row("b", says="wrong"))
    evals.config()
    nothing = {"GITHUB_ACTIONS": "", "GITHUB_STEP_SUMMARY": ""}
    code, output = go(evals, env=nothing)
    assert code == 1
    assert "::error" not in output
    lost = Path("no/such/folder/summary.md")
    code, output = go(evals, env={**nothing, "GITHUB_STEP_SUMMARY": str(lost)})
    assert code == 1
    assert f"GITHUB_STEP_SUMMARY: {lost} cannot be written: No such file or directory" in output
