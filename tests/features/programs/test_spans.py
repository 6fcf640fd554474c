"""The trace of an attempt, which a program's own spans can join."""

from __future__ import annotations

from pytest_browsereval import open_run
from pytest_browsereval.model.spans import derive_ids
from tests.hooks.small_evals import Evals, row

SAYS = "import os; print(os.environ.get('TRACEPARENT', 'none'))"


def test_a_program_learns_which_span_is_its_parent(evals: Evals) -> None:
    """By what readers of the run know: file, run, task, variant, trial, attempt."""
    program = {"type": "command", "command": ["{python}", "-c", SAYS], "mcp": "off", "answer": "stdout"}
    evals.write_rows(row("a/B", says=None), row("d", says=None))
    evals.write_config(agent=program, trials=2)
    evals.run("shop.eval.yaml")
    run = open_run(str(evals.run_folder()))
    said = {one.id: one.metadata.final_answer for one in run.attempts}
    assert said == {one.id: derive_ids(f"shop.eval.yaml::{one.id}").traceparent for one in run.attempts}
    assert len(set(said.values())) == 4
    assert {one.metadata.run_id for one in run.attempts} == {run.id}
