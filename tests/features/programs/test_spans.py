"""The trace of an attempt, which a program's own spans can join."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval import open_run
from pytest_browsereval.model.spans import derive_ids
from tests.hooks.small_evals import Evals, row

SAYS = "import os; print(os.environ.get('TRACEPARENT', 'none'))"


def run_program(evals: Evals, *arguments: str, **block: Any) -> Path:
    """Run an eval whose program says its parent; return the run's folder."""
    program = {"type": "command", "command": ["{python}", "-c", SAYS], "mcp": "off", "answer": "stdout"}
    evals.write_rows(row("a/B", says=None), row("d", says=None))
    evals.write_config(agent={**program, **block}, trials=2)
    evals.run("shop.eval.yaml", *arguments)
    return evals.run_folder()


def read_answers(run: Path) -> dict[str, str | None]:
    """Return what programs have said, by what the ids of their attempts say they had to say."""
    metadata = [json.loads(file.read_bytes()) for file in run.glob("tasks/*/*/*/*/metadata.json")]
    ids = [f"{run.name}/{one['query_id']}/{one['trial']}" for one in metadata]
    return dict(zip(ids, [one["final_answer"] for one in metadata], strict=True))


def test_a_program_learns_which_span_is_its_parent(evals: Evals) -> None:
    """By what readers of the run know: file, run, task, variant, trial, attempt."""
    run = open_run(str(run_program(evals)))
    said = {one.id: one.metadata.final_answer for one in run.attempts}
    assert said == {one.id: derive_ids(f"shop.eval.yaml::{one.id}").traceparent for one in run.attempts}
    assert len(set(said.values())) == 4
    assert {one.metadata.run_id for one in run.attempts} == {run.id}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"pass_env": ["TRACEPARENT"]}, "of the user's"),
        ({"env": {"TRACEPARENT": "mine"}}, "mine"),
        ({"env": {"TRACEPARENT": ""}}, ""),
    ],
)
def test_its_block_may_say_otherwise(
    evals: Evals, monkeypatch: pytest.MonkeyPatch, block: dict[str, Any], said: str
) -> None:
    """What it names in `pass_env` or `env` comes first."""
    monkeypatch.setenv("TRACEPARENT", "of the user's")
    run = run_program(evals, **block)
    assert {answer or "" for answer in read_answers(run).values()} == {said}


@pytest.mark.slow
def test_a_resumed_run_goes_on_with_its_ids(evals: Evals, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attempt after the errored one is the second of its trial in the same run."""
    monkeypatch.setenv("FAILS", "1")
    fails = f"{SAYS}; raise SystemExit(int(os.environ['FAILS']))"
    block = {"command": ["{python}", "-c", fails], "pass_env": ["FAILS"]}
    folder = run_program(evals, **block)
    monkeypatch.setenv("FAILS", "0")
    evals.run("shop.eval.yaml", "--eval-resume=latest").assert_outcomes(failed=4)
    again = [one for one in open_run(str(folder)).attempts if one.counts]
    assert [one.number for one in again] == [2] * 4
    assert all(
        one.metadata.final_answer == derive_ids(f"shop.eval.yaml::{one.id}").traceparent for one in again
    )
