"""The run folder: names, numbers, what is in flight, and what a kill or a damage leaves."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.store import RunStore, new_run_id

pytestmark = pytest.mark.quick


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "run")


def test_run_ids_differ_and_sort_by_time() -> None:
    """A run id is UTC time, by which ids sort, and six letters, by which those of one second differ.

    Those of one moment differ by three random letters, so of hundreds a few may be alike.
    """
    before = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    ids = {new_run_id() for _ in range(500)}
    after = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}~"
    assert len(ids) > 490
    assert all(re.fullmatch(r"\d{8}T\d{6}Z-[a-z]{6}", run_id) for run_id in ids)
    assert all(before < run_id < after for run_id in ids)


def test_a_number_is_never_used_again(store: RunStore) -> None:
    """An attempt whose folder was removed leaves a gap: the next one is still the last one of its trial."""
    key = TrialKey("a")
    folders = [store.begin_attempt(key, "n").path for _ in range(3)]
    folders[0].rmdir()
    assert store.begin_attempt(key, "n").number == 4


def test_two_that_begin_at_once_get_two_folders(store: RunStore) -> None:
    """Processes that begin an attempt of the same trial at the same time never share a folder."""
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: store.begin_attempt(TrialKey("a"), "n"), range(40)))
    assert sorted(folder.number for folder in folders) == list(range(1, 41))
    assert len({folder.marker for folder in folders}) == 40


def test_what_is_in_flight_is_known_by_worker(tmp_path: Path) -> None:
    """An attempt is in flight from its beginning to its end; that of a dead worker is taken over once."""
    first, second = (RunStore(tmp_path, worker=worker) for worker in ("gw1", "gw10"))
    done = first.begin_attempt(TrialKey("a"), "f::a")
    first.begin_attempt(TrialKey("b"), "f::b")
    second.begin_attempt(TrialKey("c"), "f::c")
    assert sorted(one.node_id for one in first.in_flight()) == ["f::a", "f::b", "f::c"]
    done.finish()
    done.finish()
    assert [one.node_id for one in first.in_flight("gw1")] == ["f::b"]
    reader = RunStore(tmp_path, worker="main")
    assert [one.node_id for one in reader.take_flight("gw1")] == ["f::b"]
    assert reader.take_flight("gw1") == []
    assert [one.node_id for one in reader.in_flight()] == ["f::c"]
    assert [one.node_id for one in second.take_flight()] == ["f::c"]


def test_broken_markers_are_passed_over(store: RunStore) -> None:
    """A marker that was cut by a kill does not stop anybody from reading the others."""
    store.begin_attempt(TrialKey("a"), "f::a")
    (store.root / "in-flight/gw0-1.json").write_text('{"node_')
    assert [one.node_id for one in store.in_flight()] == ["f::a"]
    assert RunStore(store.root / "none").in_flight() == []


def test_the_manifest_is_written_once(store: RunStore) -> None:
    """The first process writes the manifest, the others leave it; a damaged one reads as empty."""
    assert store.run.read_manifest() == {}
    store.write_manifest({"name": "first"})
    RunStore(store.root, worker="gw1").write_manifest({"name": "second"})
    assert store.run.read_manifest() == {"name": "first"}
    (store.root / "manifest.json").write_text('{"na')
    assert store.run.read_manifest() == {}


def test_a_summary_that_cannot_be_written_leaves_the_old_one(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk costs the new summary only: the old one stays whole, and no part of the new one is left."""
    store.write_manifest({})
    store.write_summary({"trials": 1})

    def fails(self: Path, target: Path) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fails)
    with pytest.raises(OSError, match="no space left"):
        store.write_summary({"trials": 2})
    assert json.loads((store.root / "summary.json").read_text()) == {"trials": 1}
    assert sorted(path.name for path in store.root.iterdir()) == ["manifest.json", "summary.json", "tasks"]
