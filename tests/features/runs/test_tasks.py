"""Tasks over the last runs: what has changed about each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.runs.digest import RunDigest
from pytest_browsereval.features.runs.history import read_history
from pytest_browsereval.features.runs.tasks import LAST, TaskLine, judge_change, read_grid
from pytest_browsereval.run.store import RunStore
from tests.features.runs.conftest import leave_run, name_of, tried
from tests.recorded import ERRORED, FAILED, PASSED, write_summary


def grid_of(results: Path) -> tuple[Sequence[RunDigest], Sequence[TaskLine]]:
    history = read_history(results)
    return read_grid(history, history.runs)[:2]


def cells_of(results: Path) -> dict[str, tuple[str, str]]:
    return {task.query_id: (task.cells, str(task.change)) for task in grid_of(results)[1]}


def test_what_has_changed(subtests: pytest.Subtests) -> None:
    """Verdicts count in their order; an error is no verdict, and an edited row is another task."""
    cases = {
        "newly failing": "PPF PFF PE.F",
        "fixed": "FFP F.P",
        "flipping": "PFP FPF PM M",
        "never passed": "FFF EFE ~F",
        "errored": "PPE PE. EE",
        "passing": "PEP P..",
        "row edited": "~~P ~~",
    }
    for change, grids in cases.items():
        for cells in grids.split():
            with subtests.test(cells=cells, change=change):
                assert judge_change(cells) == change


def test_edited_rows_and_repeats(tmp_path: Path) -> None:
    """Cells of an older row are empty; trials of a task that differ are both."""
    leave_run(tmp_path / "shop", 1, tried("a", FAILED, row_hash="old"), tried("b", PASSED, row_hash=""))
    trials = (tried("b", verdict, trial=n) for n, verdict in enumerate((PASSED, FAILED, ERRORED), 1))
    leave_run(tmp_path / "shop", 2, tried("a", PASSED), *trials)
    assert cells_of(tmp_path) == {"b": ("PM", "flipping"), "a": ("~P", "row edited")}


def test_which_runs_are_in_it(tmp_path: Path) -> None:
    """The last ones with verdicts, partial ones too; a merged run stands for its parts."""
    for number in range(1, LAST + 3):
        leave_run(tmp_path / "shop", number, tried("a", PASSED), selected=1 + number % 2)
    RunStore(leave_run(tmp_path / "shop", 28, tried("a", FAILED))).drop_summary()
    last = name_of(LAST + 2)
    leave_run(tmp_path / "shop", 29, tried("a", FAILED), merged_from=[last])
    names = [run.folder for run in grid_of(tmp_path)[0]]
    assert names == [*(name_of(number) for number in range(3, LAST + 2)), name_of(29)]


def test_a_quarantine_is_told(tmp_path: Path) -> None:
    """By the gate of the newest run, with its last day."""
    run = leave_run(tmp_path / "shop", 1, tried("a", PASSED), tried("b", PASSED))
    gate: dict[str, Any] = {"quarantine": {"a": "2026-12-01"}}
    write_summary(RunStore(run), gate=gate)
    assert {one.query_id: one.quarantine for one in grid_of(tmp_path)[1]} == {"a": "2026-12-01", "b": ""}
