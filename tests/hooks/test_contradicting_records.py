"""Files of one run that say different things of a verdict: named by all who read them, and no gate is met."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals
from tests.hooks.test_foreign_results import told
from tests.recorded import change_line, copy_line, remove_lines

Json = dict[str, Any]
FAILED = "tasks/r2/default/1/attempt-1"


def turn(folder: Path) -> None:
    """Have the line of the failed row say that it passed."""
    file = next((folder / "attempts").iterdir())
    file.write_text(file.read_text().replace('"failed"', '"passed"'))


def test_what_is_edited_in_a_folder_changes_no_figure(evals: Evals, run: EvalRun) -> None:
    """The lines count: the copies beside the evidence are for people, and may be gone."""
    for file in run.folder.glob("tasks/*/*/*/*/*.json"):
        file.write_text("{")
    shutil.rmtree(run.folder / FAILED)
    code, text = told(evals, "gate", str(run.folder))
    assert (code, "2 of 3 judged" in text) == (0, True)
    assert "3 selected, 2 passed, 1 failed" in told(evals, "runs", str(run.folder))[1]


def test_a_record_against_the_summary(evals: Evals, run: EvalRun) -> None:
    """``gate`` and ``runs`` name it, and tell the same figures."""
    assert told(evals, "runs", str(run.folder))[0] == 0
    turn(run.folder)
    code, text = told(evals, "gate", str(run.folder))
    assert (code, f"{FAILED}: passed in its record, failed in summary.json." in text) == (1, True)
    assert "3 of 3 judged" in text
    code, text = told(evals, "runs", str(run.folder))
    assert (code, f"{FAILED}: passed in its record, failed in summary.json." in text) == (1, True)
    assert "3 selected, 3 passed, 3 rows attempted" in text
    place = str(run.folder)
    labels = evals.path / "labels.jsonl"
    labels.write_text('{"query_id": "r2", "label": "fail"}\n')
    evals.write_config("page.eval.yaml", browser="playwright")
    for words in (
        ["view", place],
        ["export", place, "--to=csv"],
        ["causes", place],
        ["doctor", "page.eval.yaml", f"--run={place}"],
        ["calibrate", place, f"--labels={labels}"],
    ):
        code, text = told(evals, *words)
        assert (code, f"records that other files of the run contradict: {FAILED}" in text) == (1, True), text
    assert evals.run("shop.eval.yaml", f"--eval-regrade={run.folder}").ret == 0
    assert told(evals, "gate", str(run.folder))[0] == 0
    assert "3 selected, 2 passed, 1 failed" in told(evals, "runs", str(run.folder))[1]


def rewrite_summary(folder: Path, change: Callable[[Json], Json]) -> None:
    place = folder / "summary.json"
    place.write_text(json.dumps(change(json.loads(place.read_text()))))


def turn_both(folder: Path) -> None:
    """Change the verdict alone, in the record and in the summary."""
    change_line(folder, "r2", verdict="passed")
    passed = {"verdict": "passed"}
    rewrite_summary(folder, lambda all_: {**all_, "results": [one | passed for one in all_["results"]]})


def swap_rows(folder: Path) -> None:
    """Leave the count right, without the row that failed: the summary knows the names."""
    (folder / "selected.jsonl").unlink()
    copy_line(folder, "r0", query_id="r9")
    remove_lines(folder, "r2")


def drop_results(folder: Path) -> None:
    """Leave a summary that contradicts no record."""
    rewrite_summary(folder, lambda content: {key: content[key] for key in content if key != "results"})


EDITS: list[tuple[Callable[[Path], None], str]] = [
    (turn_both, "passed in its record, and no grade that decides is passed"),
    (swap_rows, "tasks/r9/default/1/attempt-1: passed in its record, without a result in summary.json"),
    (drop_results, "summary.json is damaged"),
    (
        lambda folder: rewrite_summary(folder, lambda content: content | {"passed": 3, "failed": 0}),
        "summary.json: passed 3, 2 in the records",
    ),
    *(
        (
            lambda folder, key=key, value=value: change_line(folder, "r2", **{key: value}),
            f"{FAILED}: failed in its record, with {key.removeprefix('total_')} {value}, which is",
        )
        for key, value in (("cost_usd", 5.0), ("total_steps", 7), ("total_duration_ms", 9_999_999.0))
    ),
]


def test_files_that_contradict_each_other_meet_no_gate(
    evals: Evals, run: EvalRun, subtests: pytest.Subtests
) -> None:
    """A verdict, a figure, a total or a name that one file has and another has not."""
    for number, (edit, said) in enumerate(EDITS):
        with subtests.test(said=said):
            copy = shutil.copytree(run.folder, evals.path / f"copy-{number}")
            edit(copy)
            code, text = told(evals, "gate", str(copy))
            assert (code, said in text) == (1, True), text


def test_totals_that_no_run_can_have(evals: Evals, run: EvalRun) -> None:
    """JSON has numbers of any size, and each command says that the summary has another one."""
    place = run.folder / "summary.json"
    given = json.loads(place.read_text())
    for key, value in (("passed", 10**400), ("failed", -(10**400)), ("cost_usd", 10**400)):
        place.write_text(json.dumps(given | {key: value}))
        for command in ("gate", "runs", "compare"):
            _, text = told(
                evals, command, str(run.folder), *([str(run.folder)] if command == "compare" else [])
            )
            assert f"{key} {str(value)[:5]}" in text, (command, text)


def test_a_contradicted_run_is_compared_with_nothing(evals: Evals, run: EvalRun) -> None:
    """One changed record of a baseline could hide a regression."""
    shutil.copytree(run.folder, evals.path / "base")
    turn(evals.path / "base")
    rules = ("--eval-set=gate.baseline=base", "--eval-set=gate.max_regressions=0")
    for typed in (
        ("export", "base", "--to=baseline", "-o", "base.json"),
        ("compare", "base", str(run.folder)),
        ("gate", str(run.folder), *rules),
    ):
        code, text = told(evals, *typed)
        is_named = f"{FAILED}: passed in its record, failed in summary.json" in text
        # A gate misses the rules that compare, in a session and in the command alike.
        assert (code, is_named) == (1 if typed[0] == "gate" else 4, True), text
    assert not (evals.path / "base.json").exists()


def test_an_incomplete_run_is_no_baseline(evals: Evals, run: EvalRun) -> None:
    """What it lacks would never regress; as the folder of a gate's baseline it is named."""
    shutil.copytree(run.folder, evals.path / "base")
    remove_lines(evals.path / "base", "r0")
    summary = json.loads((evals.path / "base/summary.json").read_text())
    results = [one for one in summary["results"] if one["query_id"] != "r0"]
    (evals.path / "base/summary.json").write_text(json.dumps({**summary, "passed": 1, "results": results}))
    code, text = told(evals, "export", "base", "--to=baseline", "-o", "base.json")
    assert code == 4, text
    assert "base is not complete: 1 of the run's 3 trials have no result: r0" in text, text
    rules = ("--eval-set=gate.baseline=base", "--eval-set=gate.max_regressions=0")
    assert "1 trial without a result in the baseline" in told(evals, "gate", str(run.folder), *rules)[1]
