"""Results that are not those of the trials that a run has selected: counted one by one, by their names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_browsereval.testing.evals import EvalRun
from tests.hooks.small_evals import Evals, row
from tests.recorded import copy_line, remove_lines


def replace(run: Path, gone: str = "r2", by: str = "r0") -> None:
    """Put a passed row of another run into the place of one of the run."""
    copy_line(run, by, query_id="zzz")
    remove_lines(run, gone)


def told(evals: Evals, *args: str) -> tuple[int, str]:
    """Return what a command comes to, and what it prints in one line."""
    done = evals.run_command(*args)
    return int(done.ret), " ".join((done.stdout.str() + done.stderr.str()).split())


def test_a_foreign_result_stands_for_no_other(evals: Evals, run: EvalRun) -> None:
    """Both are named: the row that has no result, and the result that nobody wanted."""
    assert told(evals, "gate", str(run.folder))[0] == 0
    replace(run.folder)
    code, text = told(evals, "gate", str(run.folder))
    assert code == 1
    assert "NOT MET complete: 1 of the run's 3 trials have no result: r2; 1 result belongs to" in text
    assert "a trial that no session has selected: zzz. Remove their lines from attempts/*.jsonl" in text
    assert evals.run("shop.eval.yaml", "--eval-resume").ret == pytest.ExitCode.USAGE_ERROR  # zzz is no row
    again = evals.run("shop.eval.yaml", "--eval-resume", "--eval-resume-anyway")
    assert again.ret == pytest.ExitCode.TESTS_FAILED
    assert "gate complete: 1 result belongs to a trial that no" in " ".join(again.stdout.str().split())
    remove_lines(run.folder, "zzz")
    assert evals.run("shop.eval.yaml", "--eval-resume").ret == 0
    assert told(evals, "gate", str(run.folder))[0] == 0


def test_merging_counts_no_foreign_result(evals: Evals, tmp_path: Path) -> None:
    """A part with one is refused: its summary does not know it."""
    evals.write([row(f"r{number}") for number in range(8)], gate={"min_pass_rate": 0.5})
    parts = [evals.run("shop.eval.yaml", f"--eval-shard={number}/2").folder for number in (1, 2)]
    gone = next((parts[0] / "tasks").iterdir()).name
    replace(parts[0], gone, by=gone)
    whole = str(tmp_path / "whole")
    code, text = told(evals, "merge", *map(str, parts), "-o", whole)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert "tasks/zzz/default/1/attempt-1: passed in its record, without a result in summary.json" in text
    code, text = told(evals, "gate", str(parts[0]))
    assert (code, "no session has selected: zzz" in text) == (1, True)


@pytest.mark.parametrize("content", ["", "{", '{"trials": [3]}\n'])
def test_a_damaged_selection_is_told(evals: Evals, run: EvalRun, tmp_path: Path, content: str) -> None:
    """Nobody knows then which trials there were to be; without the file they are counted."""
    file = run.folder / "selected.jsonl"
    whole = file.read_text()
    file.write_text(content)
    code, text = told(evals, "gate", str(run.folder))
    assert (code, "complete: selected.jsonl is damaged or empty" in text) == (1, True)
    shutil.copytree(run.folder, tmp_path / "b")
    code, text = told(evals, "merge", str(run.folder), str(tmp_path / "b"), "-o", str(tmp_path / "whole"))
    assert (code, "selected.jsonl is damaged or empty. Restore it." in text) == (4, True)
    file.write_text(whole)
    assert told(evals, "gate", str(run.folder))[0] == 0
    file.unlink()
    assert told(evals, "gate", str(run.folder))[0] == 0


def test_a_skipped_row_needs_no_result(evals: Evals) -> None:
    """It is one of the selected ones, and the gate is met."""
    evals.pytester.makeconftest(
        """
        import pytest

        @pytest.fixture(autouse=True)
        def skipping(request):
            if "r1" in request.node.name:
                pytest.skip("not today")
        """
    )
    run = evals.play([row("r0"), row("r1"), row("r2")], gate={"min_pass_rate": 0.5})
    assert run.ret == 0, run.stdout.str()
    assert told(evals, "gate", str(run.folder))[0] == 0
    remove_lines(run.folder, "r2")
    code, text = told(evals, "gate", str(run.folder))
    assert (code, "1 of the run's 3 trials have no result: r1, r2 (1 of them skipped)" in text) == (1, True)


def test_a_killed_run_tells_how_many_it_lacks(evals: Evals, run: EvalRun) -> None:
    """It has no summary, and its selection says which trials there were to be."""
    (run.folder / "summary.json").unlink()
    code, text = told(evals, "gate", str(run.folder))
    assert (code, "its summary.json was written: resume it (--eval-resume)" in text) == (1, True)
    remove_lines(run.folder, "r1")
    code, text = told(evals, "gate", str(run.folder))
    assert code == 1
    assert "its summary.json was written: 1 of the run's 3 trials have no result: r1" in text
    again = evals.run("shop.eval.yaml", f"--eval-regrade={run.folder}")
    assert "1 of the run's 3 trials have no result" in " ".join(again.stdout.str().split())
