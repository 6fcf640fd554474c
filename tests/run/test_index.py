"""The index of a run: whatever is wrong with it, it is passed over."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_browsereval.model.digest import digest
from pytest_browsereval.run import index as module
from pytest_browsereval.run.index import IndexFile, read_index
from pytest_browsereval.run.records import read_record
from pytest_browsereval.run.store import RunStore, TrialKey
from tests.recorded import attempt

pytestmark = pytest.mark.quick


@pytest.fixture
def run(tmp_path: Path) -> RunStore:
    """Return a run of two attempts with their lines."""
    store = RunStore(tmp_path / "run")
    for query_id in "ab":
        folder = store.begin_attempt(TrialKey(query_id), "n")
        (folder.path / "metadata.json").write_text(attempt(query_id).model_dump_json())
        folder.finish()
    return store


def index_file(run: RunStore) -> Path:
    (file,) = (run.root / "index").iterdir()
    return file


def test_an_attempt_has_a_line_once_it_is_finished(run: RunStore) -> None:
    """The line has its digest; an attempt without a record has none."""
    run.begin_attempt(TrialKey("c"), "n").finish()
    known = read_index(run.root)
    assert known == {
        "tasks/a/default/1/attempt-1": digest(attempt("a")),
        "tasks/b/default/1/attempt-1": digest(attempt("b")),
    }


def test_no_two_processes_share_a_file(run: RunStore) -> None:
    """Workers of two sessions or shards have the same names."""
    again = RunStore(run.root)
    folder = again.begin_attempt(TrialKey("c"), "n")
    (folder.path / "metadata.json").write_text(attempt("c").model_dump_json())
    folder.finish()
    assert len(list((run.root / "index").iterdir())) == 2
    assert len(read_index(run.root)) == 3


@pytest.mark.parametrize("places", ["xz", "zx"])
def test_of_several_lines_that_of_the_record_as_it_is_counts(run: RunStore, places: str) -> None:
    """Whichever file it is in."""
    folder = run.trial_folder(TrialKey("a")) / "attempt-1"
    stamp = read_record(str(folder))[1]
    shutil.rmtree(run.root / "index")
    for place, other, name in zip(places, (stamp, (1, 1, 10**20, 1)), "bc", strict=True):
        IndexFile(run.root, place).append(folder, other, digest(attempt(name)))
    assert [data.query_id for _, data in run.digests()] == ["b", "b"]


def edit(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(change(file.read_bytes()))


def put_folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def put_pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def put_link(file: Path) -> None:
    other = file.parents[2] / "elsewhere.jsonl"
    file.rename(other)
    file.symlink_to(other)


def put_linked_folder(file: Path) -> None:
    other = file.parents[2] / "elsewhere"
    file.parent.rename(other)
    file.parent.symlink_to(other)


def put_file(file: Path) -> None:
    shutil.rmtree(file.parent)
    file.parent.write_text("no folder")


LOST: dict[str, Callable[[Path], object]] = {
    "gone": lambda file: shutil.rmtree(file.parent),
    "empty": edit(lambda _: b""),
    "binary": edit(lambda _: bytes(range(256)) * 100),
    "foreign": edit(lambda _: b'{"a": 1}\n[]\n[1, 2]\n"x"\n\n'),
    "cut": edit(lambda text: b"".join(line[:-20] for line in text.splitlines(keepends=True))),
    "edited": edit(lambda text: text.replace(b'"passed"', b'"failed"')),
    "one endless line": edit(lambda text: text.replace(b"\n", b" ") * 5000),
    "folder": put_folder,
    "pipe": put_pipe,
    "link": put_link,
    "linked folder": put_linked_folder,
    "file": put_file,
}


@pytest.mark.parametrize("name", LOST)
def test_what_is_no_line_is_passed_over(run: RunStore, name: str) -> None:
    """The records are read instead."""
    expected = list(run.digests())
    LOST[name](index_file(run))
    assert read_index(run.root) == {}
    assert list(run.digests()) == expected


def test_a_damaged_line_costs_no_other(run: RunStore) -> None:
    """A process that was killed has cut one; what follows still counts."""
    file = index_file(run)
    first, second = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(first[:30] + b"\n" + second)
    assert list(read_index(run.root)) == ["tasks/b/default/1/attempt-1"]


def test_a_huge_file_is_not_read(run: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would fill the memory of its reader."""
    monkeypatch.setattr(module, "_LARGEST_FILE", 100)
    assert read_index(run.root) == {}
    assert len(list(run.digests())) == 2


def test_lines_of_another_version_are_passed_over(run: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A newer one may mean something else."""
    monkeypatch.setattr(module, "_VERSION", "newer")
    assert read_index(run.root) == {}


@pytest.mark.parametrize("name", ["linked folder", "file", "folder", "pipe"])
def test_an_attempt_is_finished_without_its_line(run: RunStore, name: str, tmp_path: Path) -> None:
    """What is in the way of the index costs the line alone; nothing is written elsewhere."""
    LOST[name](index_file(run))
    elsewhere = {file: file.stat().st_size for file in tmp_path.glob("elsewhere/*")}
    folder = run.begin_attempt(TrialKey("c"), "n")
    (folder.path / "metadata.json").write_text(attempt("c").model_dump_json())
    folder.finish()
    assert run.in_flight() == []
    assert len(list(run.digests())) == 3
    assert {file: file.stat().st_size for file in tmp_path.glob("elsewhere/*")} == elsewhere
