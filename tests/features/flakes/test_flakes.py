"""Tasks over several runs: which trials are of one task, and what they say of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.flakes.flakes import Flakes, find_flakes, read_trials
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.runs.repeats import Stability
from tests.labelled import grade, write_run
from tests.recorded import ERRORED, FAILED, PASSED, attempt, spoil_line

MANIFEST: dict[str, Any] = {
    "config": {"variants": {"default": {"type": "single", "model": "gpt-4o"}}, "limits": {"max_steps": 9}},
    "browser": "Chromium 1",
    "datasets": [{"file": "rows.jsonl", "sha256": "0"}],
}


def day(number: int) -> str:
    return f"2026-01-{number:02}T00:00:00.000Z"


def ran(folder: Path, number: int, *attempts: TaskMetadata, **manifest: Any) -> Path:
    """Leave the run of a day in January."""
    own = (one.model_copy(update={"started_at": day(number)}) for one in attempts)
    store = write_run(folder / f"202601{number:02}T000000Z-aaaaaa", *own)
    store.write_manifest({**MANIFEST, **manifest})
    store.write_summary({"selected": len(attempts)})
    return store.root


def of(*runs: Path) -> Flakes:
    return find_flakes(map(read_trials, runs))


def told(found: Flakes) -> dict[str, tuple[str, str]]:
    """Return class and letters of each task, in the order of the table."""
    return {task.query_id: (str(task.stability), marks) for task, marks in found.tasks}


def test_trials_of_several_runs_are_joined(tmp_path: Path) -> None:
    """Each class by all runs together, the worst first; a task with one trial is in none."""
    verdicts: dict[str, list[Verdict | None]] = {
        "steady": [PASSED, PASSED, PASSED],
        "seldom": [PASSED, FAILED, PASSED],
        "hard": [FAILED, FAILED, FAILED],
        "walled": [PASSED, ERRORED, None],
        "broken": [ERRORED, ERRORED, ERRORED],
        "coin": [PASSED, FAILED, None],
        "new": [None, None, PASSED],
    }
    runs = [
        ran(
            tmp_path,
            n + 1,
            *(attempt(name, one) for name, v in verdicts.items() if (one := v[n]) is not None),
        )
        for n in range(3)
    ]
    found = of(runs[2], runs[0], runs[1])
    assert [run.name[:8] for run in found.runs] == ["20260101", "20260102", "20260103"]
    assert list(told(found).items()) == [
        ("coin", ("flaky by agent", "PF.")),
        ("seldom", ("flaky by agent", "PFP")),
        ("walled", ("flaky by environment", "PE.")),
        ("broken", ("errored", "EEE")),
        ("hard", ("stable fail", "FFF")),
        ("steady", ("stable pass", "PPP")),
    ]
    assert (found.once, found.edited, found.left_out, found.twice) == (1, 0, 0, 0)
    assert found.counts[Stability.FLAKY_AGENT] == 2
    assert (found.agents, found.judges, found.others) == ([], [], [])
    content = found.as_json()
    assert content["tasks"][1] == {
        "query_id": "seldom",
        "variant": "default",
        "stability": "flaky by agent",
        "passed": 2,
        "failed": 1,
        "errored": 0,
        "runs": "PFP",
    }
    assert content["runs"][0] == {
        "run": "20260101T000000Z-aaaaaa",
        "folder": str(runs[0]),
        "passed": 4,
        "failed": 1,
        "errored": 1,
    }


def test_rows_that_were_edited_are_other_tasks(tmp_path: Path) -> None:
    """Only trials of the newest version count; how many others there are is told. Variants stay apart."""
    first = ran(
        tmp_path, 1, attempt("a", FAILED, row_hash="1"), attempt("b", row_hash="1"), attempt("b", variant="x")
    )
    second = ran(tmp_path, 2, attempt("a", row_hash="2"), attempt("b", FAILED, row_hash="1"))
    third = ran(tmp_path, 3, attempt("a", row_hash="2"), attempt("b", variant="x"))
    found = of(first, second, third)
    assert [(task.query_id, task.variant, marks) for task, marks in found.tasks] == [
        ("b", "default", "PF."),
        ("a", "default", ".PP"),
        ("b", "x", "P.P"),
    ]
    assert (found.edited, found.left_out) == (1, 1)


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
    whole = tmp_path / "20260103T000000Z-aaaaaa"
    shutil.copytree(first, whole)
    found = of(first, second, whole)
    assert (told(found), found.twice) == ({"a": ("flaky by agent", "FP.")}, 1)
    assert (found.tasks[0][0].passed, found.tasks[0][0].failed) == (1, 1)


def test_runs_that_are_not_alike(tmp_path: Path) -> None:
    """What differs of agent and graders is a warning, from run to run; what else differs is named."""
    other = {**MANIFEST["config"], "variants": {"default": {"type": "single", "model": "gpt-5"}}}
    old, new = ({"g": grade("g", fingerprint=f"g/{number}")} for number in (1, 2))
    runs = [
        ran(tmp_path, 1, attempt("a", grader_results=old)),
        ran(tmp_path, 2, attempt("a", grader_results=old), config=other, browser="Chromium 2"),
        ran(tmp_path, 3, attempt("a", grader_results=new), config=other, datasets=[{"sha256": "1"}]),
        ran(tmp_path, 4, attempt("a", grader_results=new)),
    ]
    (runs[3] / "manifest.json").unlink()
    names = [run.name for run in runs]
    found = of(*runs)
    assert found.agents == [
        f"{names[0]} -> {names[1]}: config.variants.default.model: gpt-4o -> gpt-5",
        f"{names[2]} -> {names[3]}: unknown, as the manifest of one is missing or damaged",
    ]
    assert found.judges == [f"{names[1]} -> {names[2]}: grader g: g/1 -> g/2"]
    assert found.others == ["browser"]
    (runs[3] / "manifest.json").write_text("{")
    with pytest.raises(UsageError, match=r"manifest\.json is damaged"):
        of(*runs)


def test_what_cannot_be_told(tmp_path: Path) -> None:
    """One trial of each task says nothing; a folder that is no run, or is damaged, is refused."""
    run = ran(tmp_path, 1, attempt("a"), attempt("b"))
    with pytest.raises(UsageError, match=r"no task of these runs has more than one trial.* by --last 5"):
        of(run)
    with pytest.raises(UsageError, match="has no folder 'tasks'"):
        of(run, tmp_path)
    spoil_line(run, "a")
    with pytest.raises(UsageError, match=r"at byte 0, is damaged: verdict"):
        of(run)
