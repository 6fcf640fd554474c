"""Tasks over several runs: which trials are of one task, and what they say of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from pytest_browsereval.features.runs.flakes import Flakes, find_flakes
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.runs.run import StoredRun
from tests.features.runs.conftest import day, name_of
from tests.labelled import write_run
from tests.recorded import ERRORED, FAILED, PASSED, attempt, write_summary

MANIFEST: dict[str, Any] = {
    "config": {"variants": {"default": {"type": "single", "model": "gpt-4o"}}, "limits": {"max_steps": 9}},
    "browser": "Chromium 1",
    "datasets": [{"file": "rows.jsonl", "sha256": "0"}],
}


def ran(folder: Path, number: int, *attempts: TaskMetadata, **manifest: Any) -> Path:
    """Leave the run of a day in January."""
    own = (one.model_copy(update={"started_at": day(number)}) for one in attempts)
    store = write_run(folder / name_of(number), *own)
    store.write_manifest({**MANIFEST, **manifest})
    write_summary(store, selected=len(attempts))
    return store.root


def of(*runs: Path) -> Flakes:
    return find_flakes(list(map(StoredRun, runs)))


def told(found: Flakes) -> dict[str, tuple[str, str]]:
    """Return class and letters of each task, in the order of the table."""
    return {task.query_id: (str(task.stability), marks) for task, marks in found.tasks}


def test_rows_that_were_edited_are_other_tasks(tmp_path: Path) -> None:
    """Only trials of the newest version count, and the others are counted. Variants stay apart."""
    old = attempt("a", FAILED, row_hash="1"), attempt("b", row_hash="1"), attempt("b", variant="x")
    first = ran(tmp_path, 1, *old)
    second = ran(tmp_path, 2, attempt("a", row_hash="2"), attempt("b", FAILED, row_hash="1"))
    third = ran(tmp_path, 3, attempt("a", row_hash="2"), attempt("b", variant="x"))
    found = of(first, second, third)
    assert [(task.query_id, task.variant, marks) for task, marks in found.tasks] == [
        ("b", "default", "PF."),
        ("a", "default", ".PP"),
        ("b", "x", "P.P"),
    ]
    assert found.left_out == 1


def test_several_trials_in_a_run(tmp_path: Path) -> None:
    """They are one letter, and all of them count; an error that a retry made good counts too."""
    first = ran(tmp_path, 1, *(attempt("a", v, trial=n) for n, v in enumerate((PASSED, FAILED), 1)))
    again = [attempt("b", ERRORED), attempt("b", PASSED, attempt=2)]
    second = ran(tmp_path, 2, attempt("a", PASSED), *again, attempt("b", PASSED, trial=2))
    found = of(first, second)
    assert told(found) == {"a": ("flaky by agent", "MP"), "b": ("flaky by environment", ".P")}
    assert (found.tasks[0][0].passed, found.tasks[0][0].failed) == (2, 1)
    assert found.tasks[1][0].errored == 1


def test_a_trial_in_two_runs_counts_once(tmp_path: Path) -> None:
    """As where a merged run stands beside its parts."""
    first = ran(tmp_path, 1, attempt("a", FAILED))
    second = ran(tmp_path, 2, attempt("a"))
    whole = shutil.copytree(first, tmp_path / name_of(3))
    found = of(first, second, whole)
    assert (told(found), found.left_out) == ({"a": ("flaky by agent", "FP.")}, 1)
    assert (found.tasks[0][0].passed, found.tasks[0][0].failed) == (1, 1)
