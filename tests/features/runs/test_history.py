"""The history follows the folders, whatever becomes of its file."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.runs import history as module
from pytest_browsereval.features.runs.digest import State, digest_run
from pytest_browsereval.features.runs.history import HISTORY, History, read_history
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


def lines_of(results: Path) -> list[dict[str, Any]]:
    # One may be empty: who sees another's line half written ends it.
    return [json.loads(line) for line in (results / HISTORY).read_text().splitlines() if line]


def read_counting(results: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[History, list[str]]:
    """Return the history, and which runs were digested for it."""
    made: list[str] = []

    def digest(folder: Path, name: str) -> Any:
        made.append(name)
        return original(folder, name)

    original = digest_run
    with monkeypatch.context() as patch:
        patch.setattr(module, "digest_run", digest)
        return read_history(results), sorted(made)


def test_runs_are_digested_once(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest first, of all evals; the second time no run is read."""
    found, made = read_counting(results, monkeypatch)
    names = [f"mail/{name_of(3)}", f"shop/{name_of(2)}", f"shop/{name_of(1)}"]
    assert [run.run for run in found.runs] == names
    assert made == sorted(names)
    assert read_counting(results, monkeypatch) == (found, [])


@pytest.mark.parametrize("second", ["00:00:00", "00:00:01"])
def test_a_copy_counts_once(results: Path, second: str) -> None:
    """Whatever a copy is called: the run that a session has made counts, also if it began a second later."""
    original = leave_run(results / "shop", 1, tried("a", PASSED), started_at=f"2026-01-01T{second}.000Z")
    copies = ["aaa", "zzz", f"{name_of(1)}-old", name_of(9)]
    for name in copies:
        shutil.copytree(original, results / "shop" / name)
    runs = {run.folder: run for run in read_history(results).runs if run.eval == "shop"}
    assert [runs[name].state for name in (name_of(1), *copies)] == ["complete", *["copy"] * 4]
    assert runs["aaa"].note == f"of shop/{name_of(1)}"
    for name in copies[2:]:
        shutil.rmtree(results / "shop" / name)
    shutil.rmtree(original)
    states = {run.folder: run.state for run in read_history(results).runs if run.eval == "shop"}
    assert states == {name_of(2): "complete", "aaa": "copy", "zzz": "complete"}


def test_the_copy_that_was_completed_counts(results: Path) -> None:
    """A run that was cut off is resumed elsewhere, in a copy of it."""
    original = results / "shop" / name_of(1)
    shutil.copytree(original, results / "shop" / "copy")
    (original / "summary.json").unlink()
    states = {run.folder: run.state for run in read_history(results).runs if run.eval == "shop"}
    assert states == {name_of(1): "copy", name_of(2): "complete", "copy": "complete"}


def test_numbers_that_are_none_are_left_out(results: Path) -> None:
    """A summary may hold whatever JSON can."""
    file = results / "shop" / name_of(1) / "summary.json"
    content = json.loads(file.read_text())
    content["results"][0]["cost_usd"], content["results"][0]["steps"] = 10**400, float("nan")
    file.write_text(json.dumps(content))
    run = next(run for run in read_history(results).runs if run.folder == name_of(1))
    assert (run.state, run.whole.cost_usd, run.whole.tasks) == ("complete", None, 2)


def test_folders_are_followed(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is new, gone or summed up again is noticed, and only such a run is read."""
    read_history(results)
    leave_run(results / "shop", 4, tried("a", PASSED))
    shutil.rmtree(results / "mail")
    first = RunStore(results / "shop" / name_of(1))
    write_summary(first, selected=5, skipped=0)
    found, made = read_counting(results, monkeypatch)
    assert made == [f"shop/{name_of(1)}", f"shop/{name_of(4)}"]
    assert [run.folder for run in found.runs] == [name_of(4), name_of(2), name_of(1)]
    assert found.runs[-1].state is State.PARTIAL
    first.drop_summary()
    assert read_history(results).runs[-1].state is State.UNFINISHED


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: "",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"version":1', '"version":2'),
        lambda text: text.replace('"rate":0.5', '"rate":NaN'),
        lambda text: text.replace('"state":"complete"', '"state":["complete"]'),
        lambda _: "[1]\nnull\n{}\n\x00\n" + "[" * 100_000,
    ],
)
def test_a_damaged_file_loses_nothing(results: Path, damage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut, of a newer version or no history at all: what cannot be read is made again, once."""
    before = read_history(results)
    file = results / HISTORY
    file.write_text(damage(file.read_text()))
    assert read_history(results) == before
    assert read_counting(results, monkeypatch) == (before, [])
    file.unlink()
    assert read_history(results) == before


def test_the_last_line_of_a_run_counts(results: Path) -> None:
    """A line that another session adds behind an older one, and one that was cut between them."""
    before = read_history(results)
    (other,) = (one for one in before.runs if one.run.startswith("mail"))
    with (results / HISTORY).open("a") as file:
        file.write('{"version": 1, "run": "mail/')
    module.append_digests(results, [other.model_copy(update={"note": "newer"})])
    assert [run.note for run in read_history(results).runs] == ["newer", "", ""]


def test_many_lines_that_do_not_count_are_dropped(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file does not grow without end."""
    monkeypatch.setattr(module, "STALE", 3)
    before = read_history(results)
    module.append_digests(results, before.runs * 3)
    assert len(lines_of(results)) == 12
    assert read_history(results) == before
    assert len(lines_of(results)) == 3


def test_a_folder_in_the_place_of_the_file(results: Path) -> None:
    """Runs are listed all the same; why there is no file is said, and what stands there is left alone."""
    (results / HISTORY).mkdir()
    found = read_history(results)
    assert len(found.runs) == 3
    assert f"{HISTORY} was not brought up to date: " in found.problem


def test_a_link_is_not_followed_when_it_is_read(
    results: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An agent's program may have put it there: what it leads to is not read."""
    read_history(results)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "file"
    (results / HISTORY).replace(elsewhere)
    text = elsewhere.read_text()
    (results / HISTORY).symlink_to(elsewhere)
    assert len(read_history(results).runs) == 3
    assert elsewhere.read_text() == text


def test_nothing_to_list(results: Path) -> None:
    """No folder, no run in it, or a run itself: each is said, and what to type."""
    with pytest.raises(UsageError, match="is not a folder"):
        read_history(results / "none")
    (results / "empty").mkdir()
    with pytest.raises(UsageError, match="has no run"):
        read_history(results / "empty")
    with pytest.raises(
        UsageError, match=r"is a run\. Name the folder that it is in: browsereval runs .*shop"
    ):
        read_history(results / "shop" / name_of(1))


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


def test_sessions_that_end_at_once(results: Path) -> None:
    """Each writes its line in one piece, so that none is lost and none is cut."""
    (own, *_) = read_history(results).runs
    others = [own.model_copy(update={"run": f"shop/{number}", "note": "x" * 5_000}) for number in range(80)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda one: module.append_digests(results, [one]), others))
    assert {line["run"] for line in lines_of(results)} >= {one.run for one in others}
