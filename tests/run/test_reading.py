"""Reading the records of a run: finished attempts, damage, and the index where it is right."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.index.command import reindex_run
from pytest_browsereval.model.digest import AttemptDigest, digest
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.run import reading
from pytest_browsereval.run.index import IndexFile
from pytest_browsereval.run.records import read_record
from pytest_browsereval.run.store import AttemptFolder, RunStore, TrialKey
from tests.recorded import attempt
from tests.support import PATIENCE_S

pytestmark = pytest.mark.quick


def finish(folder: AttemptFolder, **more: object) -> None:
    """Write an attempt's metadata and take it out of flight."""
    metadata = attempt(**{"attempt": folder.number, **more})  # type: ignore[arg-type]
    (folder.path / "metadata.json").write_text(metadata.model_dump_json())
    folder.finish()


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "run")


def test_finished_attempts_are_those_with_metadata(store: RunStore) -> None:
    """Attempts come in the order of their folders; one without metadata is not there."""
    for query_id in ("b", "a"):
        finish(store.begin_attempt(TrialKey(query_id), "n"), query_id=query_id)
    finish(store.begin_attempt(TrialKey("a"), "n"), query_id="a")
    store.begin_attempt(TrialKey("killed"), "n")
    found = [(folder.name, metadata.query_id) for folder, metadata in store.attempts()]
    assert found == [("attempt-1", "a"), ("attempt-2", "a"), ("attempt-1", "b")]
    assert list(RunStore(store.root / "none").attempts()) == []


def test_digests_are_of_the_same_attempts(store: RunStore) -> None:
    """All ways to read tell the same, and pass over what is no attempt; the last of each trial counts."""
    for query_id in ("b", "a", "a"):
        folder = store.begin_attempt(TrialKey(query_id), "n")
        finish(folder, query_id=query_id, started_at=f"2025-01-01T00:00:0{folder.number}.000Z")
    store.begin_attempt(TrialKey("killed"), "n")
    trial = store.trial_folder(TrialKey("a"))
    for stray in (store.root / "tasks/notes.txt", trial / "attempt-9", trial.parent / "notes.txt"):
        stray.write_text("no folder")
    (trial / "copy").mkdir()
    whole = list(store.attempts())
    assert list(store.digests()) == [(folder, digest(metadata)) for folder, metadata in whole]
    last = [(data.query_id, data.attempt) for _, data in store.last_digests()]
    assert last == [("b", 1), ("a", 2)]
    assert [folder.name for folder in store.folders()] == ["attempt-1", "attempt-2", "attempt-1", "attempt-1"]


DAMAGES: dict[str, tuple[Callable[[str], str], str]] = {
    "cut": (lambda text: text[: len(text) // 2], "Invalid JSON"),
    "empty": (lambda _: "", "Invalid JSON"),
    "no metadata": (lambda _: "[1]", "Input should be an object"),
    "wrong value": (lambda text: text.replace('"verdict":"passed"', '"verdict":"great"'), "verdict: Input"),
    "value that no digest keeps": (
        lambda text: text.replace('"final_answer":"42"', '"final_answer":42'),
        "final_answer: Input",
    ),
    "unknown field": (lambda text: text.replace("{", '{"extra": 1,', 1), "extra: Extra"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_metadata_is_a_usage_error(store: RunStore, damage: str) -> None:
    """The error about a damaged record names its file, what is wrong and what to do."""
    change, why = DAMAGES[damage]
    folder = store.begin_attempt(TrialKey("a"), "n")
    finish(folder)
    file = folder.path / "metadata.json"
    file.write_text(change(file.read_text()))
    with pytest.raises(UsageError) as caught:
        list(store.digests())
    message = str(caught.value)
    assert message.startswith(f"{file} is damaged: ")
    assert why in message
    assert "remove the folder attempt-1" in message
    assert "\n" not in message


# -- with an index


@pytest.fixture
def run(store: RunStore) -> RunStore:
    """Return a run of three attempts, each noted in the index."""
    for query_id in "abc":
        finish(store.begin_attempt(TrialKey(query_id), "n"), query_id=query_id, verdict=Verdict.FAILED)
    return store


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the tasks whose records are opened."""
    names: list[str] = []

    def read(folder: str) -> object:
        names.append(Path(folder).parents[2].name)
        return read_record(folder)

    monkeypatch.setattr("pytest_browsereval.run.reading.read_record", read)
    return names


def read_all(store: RunStore) -> dict[str, AttemptDigest]:
    return {folder.relative_to(store.root).as_posix(): data for folder, data in store.digests()}


def record_of(store: RunStore, query_id: str) -> Path:
    return store.trial_folder(TrialKey(query_id)) / "attempt-1/metadata.json"


def test_no_record_is_opened_that_the_index_has(run: RunStore, opened: list[str]) -> None:
    """The index says what the records say, in the same order."""
    found = list(run.digests())
    assert opened == []
    assert found == [(folder, digest(metadata)) for folder, metadata in run.attempts()]


def rewrite(store: RunStore) -> None:
    """Make a record say something else in as many bytes, and set its time back."""
    file = record_of(store, "b")
    before = file.stat()
    while file.stat().st_ctime_ns == before.st_ctime_ns:  # until the system's clock has ticked
        file.write_text(attempt("b", Verdict.PASSED).model_dump_json().ljust(before.st_size))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def replace(store: RunStore) -> None:
    """Have another file take the place of a record."""
    other = store.root / "other"
    other.write_text(attempt("b", Verdict.PASSED).model_dump_json())
    other.replace(record_of(store, "b"))


def copy(store: RunStore) -> None:
    """Copy a trial, as somebody may who makes one up."""
    shutil.copytree(store.root / "tasks/a", store.root / "tasks/b", dirs_exist_ok=True)


@pytest.mark.parametrize("change", [rewrite, replace, copy])
def test_a_record_that_has_changed_is_read(
    run: RunStore, opened: list[str], change: Callable[[RunStore], None]
) -> None:
    """Whatever its line says; those of the others are not."""
    change(run)
    found = read_all(run)["tasks/b/default/1/attempt-1"]
    assert opened == ["b"]
    assert found == digest(reading.read_metadata(record_of(run, "b").parent))


def test_a_folder_that_no_line_names_is_read(run: RunStore, opened: list[str]) -> None:
    """It may be that of a process that was killed, or a foreign one; a copy with another name is none."""
    shutil.copytree(run.root / "tasks/a", run.root / "tasks/d")
    shutil.copytree(run.root / "tasks/a/default/1/attempt-1", run.root / "tasks/a/default/1/attempt-1.bak")
    assert [name.split("/")[1] for name in read_all(run)] == ["a", "b", "c", "d"]
    assert opened == ["d"]


@pytest.mark.parametrize("are_counted", [True, False])
def test_only_folders_that_may_have_changed_are_listed(
    run: RunStore, monkeypatch: pytest.MonkeyPatch, *, are_counted: bool
) -> None:
    """The others have as many links as they had; where the disk does not count these, all are listed."""
    listed: list[str] = []

    def list_names(folder: str) -> list[str]:
        listed.append(Path(folder).relative_to(run.root).as_posix())
        return sorted(path.name for path in Path(folder).iterdir() if path.is_dir())

    if not are_counted:
        monkeypatch.setattr(reading, "_LINKS", 10**9)
    shutil.copytree(run.root / "tasks/b/default/1", run.root / "tasks/b/default/2")
    shutil.copytree(run.root / "tasks/c/default/1/attempt-1", run.root / "tasks/c/default/1/attempt-7")
    before = read_all(run)
    assert list(before) == [
        "tasks/a/default/1/attempt-1",
        "tasks/b/default/1/attempt-1",
        "tasks/b/default/2/attempt-1",
        "tasks/c/default/1/attempt-1",
        "tasks/c/default/1/attempt-7",
    ]
    monkeypatch.setattr(reading, "_list_names", list_names)
    assert read_all(run) == before
    assert ("tasks/a" in listed) is not are_counted
    assert {"tasks/b", "tasks/c/default/1"} <= set(listed)


@pytest.mark.parametrize(
    "place",
    ["tasks/a/../b/default/1/attempt-1", "tasks/./default/1/attempt-1", "tasks/b/default/1/../1/attempt-1"],
)
def test_a_line_that_names_no_place_of_an_attempt_is_passed_over(run: RunStore, place: str) -> None:
    """A path that leads to another attempt would count it twice."""
    before = read_all(run)
    folder = run.root / "tasks/b/default/1/attempt-1"
    line = digest(attempt("x"))
    IndexFile(run.root, "z").append(run.root / place, read_record(str(folder))[1], line)
    assert read_all(run) == before


def test_a_link_to_a_folder_is_no_attempt(run: RunStore, tmp_path: Path) -> None:
    """With its line or without it: the folder has gone elsewhere."""
    (run.root / "tasks/b").rename(tmp_path / "elsewhere")
    (run.root / "tasks/b").symlink_to(tmp_path / "elsewhere")
    (run.root / "tasks/a/default/1/attempt-2").symlink_to(run.root / "tasks/c/default/1/attempt-1")
    found = [name.split("/")[1] for name in read_all(run)]
    assert found == ["a", "c"]
    shutil.rmtree(run.root / "index")
    assert [name.split("/")[1] for name in read_all(run)] == found


def test_a_line_without_its_record_does_not_count(run: RunStore) -> None:
    """Whether the record is gone or its folder."""
    record_of(run, "a").unlink()
    shutil.rmtree(run.root / "tasks/b")
    assert [name.split("/")[1] for name in read_all(run)] == ["c"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_of_a_record_is_noticed_in_spite_of_the_index(run: RunStore, damage: str) -> None:
    """With the same words as without it."""
    change, _ = DAMAGES[damage]
    file = record_of(run, "b")
    file.write_text(change(file.read_text().replace('"failed"', '"passed"')))
    with pytest.raises(UsageError) as with_index:
        list(run.digests())
    shutil.rmtree(run.root / "index")
    with pytest.raises(UsageError) as without:
        list(run.digests())
    assert str(with_index.value) == str(without.value)


# -- indexing


def list_index(store: RunStore) -> list[Path]:
    return sorted((store.root / "index").glob("*"))


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have readers index runs of any size."""
    monkeypatch.setattr("pytest_browsereval.run.reading.WORTH_INDEXING", 1)


@pytest.mark.usefixtures("eager")
def test_a_run_without_index_is_indexed_when_it_is_read(run: RunStore, opened: list[str]) -> None:
    """Runs of earlier versions and copies of runs are read in full once."""
    shutil.copytree(run.root, copied := run.root.with_name("copied"))
    shutil.rmtree(run.root / "index")
    for store in (run, RunStore(copied)):
        first = read_all(store)
        assert sorted(opened) == ["a", "b", "c"]
        assert len(list_index(store)) == 1
        opened.clear()
        assert read_all(store) == first
        assert opened == []


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("why", ["held", "no folder", "small"])
def test_a_run_that_cannot_be_indexed_is_read(
    run: RunStore, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Since a process writes it, its folder cannot be written, or it is not worth it."""
    expected = read_all(run)
    shutil.rmtree(run.root / "index")
    if why == "no folder":
        (run.root / "index").write_text("in the way")
    if why == "small":
        monkeypatch.setattr("pytest_browsereval.run.reading.WORTH_INDEXING", 3)
    if why == "held":
        with RunStore(run.root, worker="gw0").hold():
            assert read_all(run) == expected
    else:
        assert read_all(run) == expected
    assert list_index(run) == []


def test_a_session_believes_the_records_alone(run: RunStore, opened: list[str]) -> None:
    """Its attempts may have written into the index; afterwards there is a new one, in one file."""
    assert [data.query_id for _, data in run.index_digests()] == ["a", "b", "c"]
    assert sorted(opened) == ["a", "b", "c"]
    (file,) = list_index(run)
    assert file.name.startswith("all-")
    assert len(file.read_bytes().splitlines()) == 3


def test_reading_that_is_given_up_leaves_the_old_index(run: RunStore) -> None:
    """Of the new one nothing is left."""
    before = list_index(run)
    records = run.index_digests()
    next(records)
    records.close()  # type: ignore[attr-defined]
    assert list_index(run) == before


def test_reindex_says_why_it_cannot(run: RunStore) -> None:
    """A process writes the run, or the index cannot be written."""
    assert reindex_run(run.root) == 3
    with RunStore(run.root, worker="gw0").hold(), pytest.raises(UsageError, match="still writes this run"):
        reindex_run(run.root)
    shutil.rmtree(run.root / "index")
    (run.root / "index").write_text("in the way")
    with pytest.raises(UsageError, match="cannot be written"):
        reindex_run(run.root)


def test_threads_read_ahead_where_the_disk_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not before a batch has waited, and in the same order."""
    waits, threads = iter([0, 0, 0, 99]), set[tuple[int, int]]()
    monkeypatch.setattr(reading, "_count_waits", lambda: next(waits))

    def read(number: int) -> list[int]:
        threads.add((number // reading.BATCH, threading.get_ident()))
        return [number]

    numbers = range(5 * reading.BATCH)
    assert list(reading.work_ahead(read, numbers)) == list(numbers)
    own = {batch for batch, thread in threads if thread == threading.get_ident()}
    assert own == {0, 1}


def test_reading_that_is_dropped_waits_for_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The garbage collector may drop it in a thread that holds a lock which the end of others needs."""
    monkeypatch.setattr(reading, "WORTH_THREADS", -1)
    blocked, goes_on = threading.Event(), threading.Event()

    def read(number: int) -> list[int]:
        if number >= reading.BATCH:
            blocked.set()
            assert goes_on.wait(PATIENCE_S)
        return [number]

    found = reading.work_ahead(read, range(40 * reading.BATCH))
    assert next(found) == 0
    assert blocked.wait(PATIENCE_S)
    drops = threading.Thread(target=found.close, daemon=True)
    drops.start()
    drops.join(PATIENCE_S)
    is_over = not drops.is_alive()
    goes_on.set()
    assert is_over
