"""The list of runs follows the folders."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.runs.digest import State
from pytest_browsereval.features.runs.history import read_history
from pytest_browsereval.run.store import RunStore
from tests.features.runs.conftest import leave_run, name_of, tried
from tests.recorded import FAILED, PASSED, write_summary


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Return a results folder with two runs of one eval, and one of another."""
    for number in (1, 2):
        leave_run(tmp_path / "shop", number, tried("a", PASSED), tried("b", FAILED))
    leave_run(tmp_path / "mail", 3, tried("c", PASSED))
    return tmp_path


def test_all_runs_are_listed(results: Path) -> None:
    """The newest first, of all evals; nothing is written into the folder."""
    before = sorted(results.rglob("*"))
    names = [f"mail/{name_of(3)}", f"shop/{name_of(2)}", f"shop/{name_of(1)}"]
    assert [run.run for run in read_history(results).runs] == names
    assert sorted(results.rglob("*")) == before


def test_folders_are_followed(results: Path) -> None:
    """A run that is new, gone or summed up again is noticed."""
    read_history(results)
    leave_run(results / "shop", 4, tried("a", PASSED))
    shutil.rmtree(results / "mail")
    first = RunStore(results / "shop" / name_of(1))
    write_summary(first, selected=5, skipped=0)
    found = read_history(results)
    assert [run.folder for run in found.runs] == [name_of(4), name_of(2), name_of(1)]
    assert found.runs[-1].state is State.PARTIAL
    first.drop_summary()
    assert read_history(results).runs[-1].state is State.UNFINISHED


def test_nothing_to_list(results: Path) -> None:
    """No folder, or no run in it: each is said, and what to type."""
    with pytest.raises(UsageError, match="is not a folder"):
        read_history(results / "none")
    (results / "empty").mkdir()
    with pytest.raises(UsageError, match="has no run"):
        read_history(results / "empty")


def test_runs_that_lie_beside_evals(results: Path) -> None:
    """A merged run may lie in the results folder itself, and a folder may hold runs of one eval only."""
    leave_run(results, 9, tried("a", PASSED), name="merged")
    assert read_history(results).runs[0].run == name_of(9)
    assert [run.run for run in read_history(results / "shop").runs] == [name_of(2), name_of(1)]


def test_a_run_that_still_runs(results: Path) -> None:
    """Its process holds a lock; without one it was cut off."""
    store = RunStore(results / "mail" / name_of(3))
    store.drop_summary()
    with store.locks.hold():
        assert read_history(results).runs[0].note == "it still runs"
    found = read_history(results).runs[0]
    assert (found.state, found.note) == (State.UNFINISHED, "it was cut off; --eval-resume continues it")


def test_links_to_runs_are_left_out(results: Path) -> None:
    """A link to the latest run lists it once; the folder of an eval may be a link."""
    (results / "shop/latest").symlink_to(results / "shop" / name_of(2))
    elsewhere = (results / "mail").rename(results.parent / f"{results.name}-mail")
    (results / "mail").symlink_to(elsewhere)
    names = [run.run for run in read_history(results).runs]
    assert names == [f"mail/{name_of(3)}", f"shop/{name_of(2)}", f"shop/{name_of(1)}"]
