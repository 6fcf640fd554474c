"""The list of runs follows the folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_browsereval.features.runs.digest import State
from pytest_browsereval.features.runs.history import read_history
from pytest_browsereval.run.store import RunStore
from tests.features.runs.conftest import leave_run, name_of, tried
from tests.recorded import FAILED, PASSED


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Return a results folder with two runs of one eval, and one of another."""
    for number in (1, 2):
        leave_run(tmp_path / "shop", number, tried("a", PASSED), tried("b", FAILED))
    leave_run(tmp_path / "mail", 3, tried("c", PASSED))
    return tmp_path


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
