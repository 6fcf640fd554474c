"""The list of runs follows the folders."""

from __future__ import annotations

from pathlib import Path

from pytest_browsereval.features.runs.digest import State
from pytest_browsereval.features.runs.history import read_history
from pytest_browsereval.run.store import RunStore
from tests.features.runs.conftest import leave_run, name_of, tried
from tests.recorded import FAILED, PASSED


def test_the_runs_of_a_folder(tmp_path: Path) -> None:
    """Of evals, of one, and next to them; a link to a run is left out, that of an eval is followed."""
    for number in (1, 2):
        leave_run(tmp_path / "results/shop", number, tried("a", PASSED), tried("b", FAILED))
    leave_run(tmp_path / "elsewhere", 3, tried("c", PASSED))
    leave_run(tmp_path / "results", 9, tried("a", PASSED), name="merged")
    (tmp_path / "results/shop/latest").symlink_to(tmp_path / "results/shop" / name_of(2))
    (tmp_path / "results/mail").symlink_to(tmp_path / "elsewhere")
    names = [run.run for run in read_history(tmp_path / "results").runs]
    assert names == [name_of(9), f"mail/{name_of(3)}", f"shop/{name_of(2)}", f"shop/{name_of(1)}"]
    assert [run.run for run in read_history(tmp_path / "results/shop").runs] == [name_of(2), name_of(1)]


def test_a_run_that_still_runs(tmp_path: Path) -> None:
    """Its process holds a lock; without one it was cut off."""
    store = RunStore(leave_run(tmp_path / "mail", 3, tried("c", PASSED)))
    store.drop_summary()
    with store.locks.hold():
        assert read_history(tmp_path).runs[0].note == "it is still running"
    found = read_history(tmp_path).runs[0]
    assert (found.state, found.note) == (State.UNFINISHED, "it was cut off; --eval-resume continues it")
