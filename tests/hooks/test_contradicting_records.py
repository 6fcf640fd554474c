"""Files of one run that say different things of a verdict: named by all who read them, and no gate is met."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import BinaryIO

import pytest

from pytest_browsereval.run_files import open_written
from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals, row
from tests.hooks.test_foreign_results import told

FAILED = "tasks/r2/default/1/attempt-1"


@pytest.fixture
def run(evals: Evals) -> EvalRun:
    """Return a run of three rows, one of which fails; its gate is met."""
    evals.write_rows(row("r0"), row("r1"), row("r2", says="wrong"))
    evals.write_config(gate={"min_pass_rate": 0.5})
    made = evals.run("shop.eval.yaml")
    assert made.ret == 0, made.stdout.str()
    return made


def turn(folder: Path, file: str) -> None:
    """Have a file of the failed row say that it passed."""
    place = folder / FAILED / file
    place.write_text(place.read_text().replace('"failed"', '"passed"'))


def test_a_record_against_the_summary(evals: Evals, run: EvalRun) -> None:
    """``gate`` and ``show`` name it, and tell the same figures."""
    assert told(evals, "show", str(run.folder))[0] == 0
    turn(run.folder, "metadata.json")
    code, text = told(evals, "gate", str(run.folder))
    assert (code, f"{FAILED}: passed by its record, failed by summary.json." in text) == (1, True)
    assert "3 of 3 judged" in text
    code, text = told(evals, "show", str(run.folder))
    assert (code, f"{FAILED}: passed by its record, failed by summary.json." in text) == (1, True)
    assert "3 selected, 3 passed, 3 rows attempted" in text
    assert evals.run("shop.eval.yaml", f"--eval-regrade={run.folder}").ret == 0
    assert told(evals, "gate", str(run.folder))[0] == 0
    assert "3 selected, 2 passed, 1 failed" in told(evals, "show", str(run.folder))[1]


def test_a_record_against_its_grades(evals: Evals, run: EvalRun, tmp_path: Path) -> None:
    """Without a summary, and in a part that would be merged."""
    turn(run.folder, "metadata.json")
    summary = run.folder / "summary.json"
    summary.write_text(summary.read_text().replace('"failed"', '"passed"'))
    want = f"{FAILED}: passed by its record, with answer passed, which is failed in grades.json"
    code, text = told(evals, "gate", str(run.folder))
    assert (code, want in text) == (1, True)
    shutil.copytree(run.folder, tmp_path / "b")
    code, text = told(evals, "merge", str(run.folder), str(tmp_path / "b"), "-o", str(tmp_path / "whole"))
    assert (code, want in text) == (4, True)
    again = evals.run("shop.eval.yaml", "--eval-resume")
    assert (again.ret, want in " ".join(again.stdout.str().split())) == (pytest.ExitCode.TESTS_FAILED, True)


def test_grades_that_agreed_are_not_read_again(
    evals: Evals, run: EvalRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gate looks at each file, and opens those that have changed since; an index of them hides nothing."""
    opened: list[str] = []

    def note(path: str) -> BinaryIO:
        opened.append(Path(path).parts[-5])
        return open_written(path)

    monkeypatch.setattr("pytest_browsereval.analysis.evidence.open_written", note)
    assert told(evals, "gate", str(run.folder))[0] == 0
    assert opened == []
    grades = run.folder / "tasks/r1/default/1/attempt-1/grades.json"
    grades.write_bytes(grades.read_bytes())
    assert told(evals, "gate", str(run.folder))[0] == 0
    assert opened == ["r1"]
    turn(run.folder, "grades.json")
    assert told(evals, "reindex", str(run.folder))[0] == 0
    assert told(evals, "gate", str(run.folder))[0] == 1
    assert opened == ["r1", "r2"]


@pytest.mark.parametrize("content", ["[]", "{", '{"answer": 3}', "{}", '{"answer": {"verdict": "passed"}}'])
def test_grades_that_are_damaged(evals: Evals, run: EvalRun, content: str) -> None:
    """A verdict without its evidence meets no gate either."""
    (run.folder / FAILED / "grades.json").write_text(content)
    code, text = told(evals, "gate", str(run.folder))
    assert (code, f"NOT MET records: records that other files of the run contradict: {FAILED}" in text) == (
        1,
        True,
    )


def test_a_verdict_against_the_grades_in_its_record(evals: Evals, run: EvalRun) -> None:
    """The verdict alone was changed, in the record and in the summary."""
    for file in (run.folder / FAILED / "metadata.json", run.folder / "summary.json"):
        content = json.loads(file.read_text())
        for one in content.get("results", [content]):
            one["verdict"] = "passed"
        file.write_text(json.dumps(content))
    code, text = told(evals, "gate", str(run.folder))
    assert (code, "passed by its record, and no grade that decides is passed" in text) == (1, True)


def test_a_copied_trial_is_no_second_try(evals: Evals, run: EvalRun) -> None:
    """It is named as what it is: nothing was run again, and nothing was paid for it."""
    shutil.copytree(run.folder / "tasks/r0/default/1", run.folder / "tasks/r0/default/2")
    code, text = told(evals, "gate", str(run.folder))
    assert code == 1
    assert (
        "tasks/r0/default/1/attempt-1 and tasks/r0/default/2/attempt-1 are one attempt by their records"
        in text
    )
    again = evals.run("shop.eval.yaml", f"--eval-regrade={run.folder}")
    assert again.ret == pytest.ExitCode.TESTS_FAILED
    assert "best of" not in again.stdout.str()
    assert "best_of" not in again.summary


@pytest.mark.parametrize(
    ("key", "value"), [("cost_usd", 5.0), ("total_steps", 7), ("total_duration_ms", 9_999_999.0)]
)
def test_a_figure_against_the_summary(evals: Evals, run: EvalRun, key: str, value: float) -> None:
    """Gates have rules about costs, steps and durations as well."""
    place = run.folder / FAILED / "metadata.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {key: value}))
    code, text = told(evals, "gate", str(run.folder))
    assert code == 1
    assert f"{FAILED}: failed by its record, with {key.removeprefix('total_')} {value}, which is" in text


def test_totals_against_the_records(evals: Evals, run: EvalRun) -> None:
    """A summary may be what somebody reads first."""
    place = run.folder / "summary.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"passed": 3, "failed": 0}))
    code, text = told(evals, "gate", str(run.folder))
    assert (code, "summary.json: passed 3, 2 by the records" in text) == (1, True)


def test_totals_that_no_run_can_have(evals: Evals, run: EvalRun) -> None:
    """JSON has numbers of any size, and each command says that the summary has another one."""
    place = run.folder / "summary.json"
    given = json.loads(place.read_text())
    for key, value in (("passed", 10**400), ("failed", -(10**400)), ("cost_usd", 10**400)):
        place.write_text(json.dumps(given | {key: value}))
        for command in ("gate", "show", "compare"):
            _, text = told(
                evals, command, str(run.folder), *([str(run.folder)] if command == "compare" else [])
            )
            assert f"{key} {str(value)[:5]}" in text, (command, text)


def test_a_summary_without_results(evals: Evals, run: EvalRun) -> None:
    """It would contradict no record."""
    place = run.folder / "summary.json"
    content = json.loads(place.read_text())
    place.write_text(json.dumps({key: value for key, value in content.items() if key != "results"}))
    code, text = told(evals, "gate", str(run.folder))
    assert (code, "summary.json is damaged" in text) == (1, True)


def test_grades_that_are_missing(evals: Evals, run: EvalRun) -> None:
    """A run writes them before the record."""
    (run.folder / FAILED / "grades.json").unlink()
    code, text = told(evals, "gate", str(run.folder))
    assert (code, f"{FAILED}: failed by its record, and its grades.json is missing" in text) == (1, True)


def test_rows_that_were_swapped(evals: Evals, run: EvalRun) -> None:
    """The count is right, and the failed row has gone: the summary knows the names."""
    (run.folder / "selected.jsonl").unlink()
    shutil.move(run.folder / "tasks/r2", evals.path / "r2")
    shutil.copytree(run.folder / "tasks/r0", run.folder / "tasks/r9")
    place = run.folder / "tasks/r9/default/1/attempt-1/metadata.json"
    place.write_text(json.dumps(json.loads(place.read_text()) | {"query_id": "r9"}))
    code, text = told(evals, "gate", str(run.folder))
    assert code == 1
    assert "tasks/r9/default/1/attempt-1: passed by its record, without a result in summary.json" in text


def test_a_contradicted_run_is_compared_with_nothing(evals: Evals, run: EvalRun) -> None:
    """One changed record of a baseline could hide a regression."""
    shutil.copytree(run.folder, evals.path / "base")
    turn(evals.path / "base", "metadata.json")
    rules = ("--eval-set=gate.baseline=base", "--eval-set=gate.max_regressions=0")
    for typed in (
        ("baseline", "base", "base.json"),
        ("compare", "base", str(run.folder)),
        ("gate", str(run.folder), *rules),
    ):
        code, text = told(evals, *typed)
        assert (code, f"{FAILED}: passed by its record, failed by summary.json" in text) == (4, True), text
    assert not (evals.path / "base.json").exists()


def test_an_incomplete_run_is_no_baseline(evals: Evals, run: EvalRun) -> None:
    """What it lacks would never regress; as the folder of a gate's baseline it is named."""
    shutil.copytree(run.folder, evals.path / "base")
    shutil.rmtree(evals.path / "base/tasks/r0")
    summary = json.loads((evals.path / "base/summary.json").read_text())
    results = [one for one in summary["results"] if one["query_id"] != "r0"]
    (evals.path / "base/summary.json").write_text(json.dumps({**summary, "passed": 1, "results": results}))
    code, text = told(evals, "baseline", "base", "base.json")
    assert code == 4, text
    assert "base is not complete: 1 of the run's 3 trials have no result: r0" in text, text
    rules = ("--eval-set=gate.baseline=base", "--eval-set=gate.max_regressions=0")
    assert "The baseline has no result of 1 trial" in told(evals, "gate", str(run.folder), *rules)[1]


def test_a_record_that_was_removed(evals: Evals, run: EvalRun) -> None:
    """A baseline without a row that passed would hide that it is lost: its summary still has it."""
    base = evals.path / "base"
    shutil.copytree(run.folder, base)
    shutil.rmtree(base / "tasks/r0")
    want = "r0, default, trial 1: passed by summary.json, and its record is missing"
    evals.write_rows(row("r0", says="wrong"), row("r1"), row("r2", says="wrong"))
    worse = evals.run("shop.eval.yaml", "--eval-set=gate={}").folder
    rules = ("--eval-set=gate.baseline=base", "--eval-set=gate.max_regressions=0")
    for typed in (
        ("gate", str(worse), *rules),
        ("compare", "base", str(worse)),
        ("baseline", "base", "b.json"),
    ):
        code, text = told(evals, *typed)
        assert (code, want in text) == (4, True), text
    code, text = told(evals, "show", "base")
    assert (code, want in text) == (1, True), text
    code, text = told(evals, "gate", "base")
    assert (code, "NOT MET complete: 1 of the run's 3 trials have no result: r0" in text) == (1, True), text
