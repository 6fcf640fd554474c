"""The record of a run: which lines count, what is damaged, and what a kill leaves."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.lines import Noted
from pytest_browsereval.runs.run import StoredRun
from tests.recorded import FAILED, PASSED, attempt, read_history, remove_lines

pytestmark = pytest.mark.quick


def add(store: RunStore, query_id: str, verdict: Verdict = PASSED, **more: object) -> TaskMetadata:
    """Write an attempt."""
    folder = store.begin_attempt(TrialKey(query_id), "n")
    made = store.save_record(attempt(query_id, verdict, **{"attempt": folder.number, **more}))
    folder.finish()
    return made


def read(store: RunStore) -> list[tuple[str, int, str, int]]:
    found = StoredRun(store.root).attempts
    return [(one.query_id, one.attempt, str(one.verdict), one.revision) for one in found]


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "run")


def file_of(store: RunStore) -> Path:
    (found,) = (store.root / "attempts").iterdir()
    return found


def test_an_attempt_with_a_line_is_finished(store: RunStore) -> None:
    """Attempts come in the order of their folders, the tenth behind the second; others are not there."""
    days = enumerate("b" + "a" * 10, 1)
    made = [add(store, query_id, started_at=f"2025-01-{day:02}") for day, query_id in days]
    store.begin_attempt(TrialKey("killed"), "n")
    run = StoredRun(store.root)
    assert [one.metadata for one in run.attempts] == [*made[1:], made[0]]
    assert [one.folder.name for one in run.attempts] == [*(f"attempt-{n}" for n in range(1, 11)), "attempt-1"]
    assert [(one.last.query_id, one.last.attempt) for one in run.trials] == [("b", 1), ("a", 10)]
    assert StoredRun(store.root / "none").attempts == ()
    copy = json.loads((store.root / "tasks/b/default/1/attempt-1/metadata.json").read_text())
    assert TaskMetadata.model_validate(copy) == made[0]


def test_the_highest_revision_counts(store: RunStore) -> None:
    """In whichever file it stands; what is edited in an attempt's folder changes nothing."""
    add(store, "a", FAILED)
    other = RunStore(store.root, worker="gw1")
    assert other.save_record(attempt("a", PASSED)).revision == 2
    assert store.save_record(attempt("a", FAILED)).revision == 3
    (store.root / "tasks/a/default/1/attempt-1/metadata.json").write_text("{")
    assert read(store) == [("a", 1, "failed", 3)]
    assert [line["revision"] for line in read_history(store.root, "a")] == [1, 2, 3]


def test_two_lines_of_one_revision_are_refused(store: RunStore) -> None:
    """Unless both say the same: a file may be there twice."""
    add(store, "a", FAILED)
    (store.root / "attempts/copy.jsonl").write_bytes(file_of(store).read_bytes())
    assert read(store) == [("a", 1, "failed", 1)]
    (store.root / "attempts/copy.jsonl").write_text(attempt("a", PASSED).model_dump_json() + "\n")
    with pytest.raises(UsageError, match=r"are different lines of tasks/a/default/1/attempt-1 with rev"):
        read(store)


def test_a_line_that_was_cut_counts_for_nothing(store: RunStore) -> None:
    """Nor does one whose end is missing yet; whoever writes next begins a new one."""
    add(store, "a")
    cut = attempt("b").model_dump_json().encode()[:-90]
    with file_of(store).open("ab") as file:
        file.write(cut)
    assert read(store) == [("a", 1, "passed", 1)]
    add(store, "c")
    assert file_of(store).read_bytes().splitlines()[1] == cut
    assert [one[0] for one in read(store)] == ["a", "c"]
    file_of(store).write_bytes(file_of(store).read_bytes()[:-1])
    assert [one[0] for one in read(store)] == ["a"]


DAMAGES: dict[str, tuple[Callable[[str], str], str]] = {
    "no JSON": (lambda text: "x" + text, "Invalid JSON"),
    "no record": (lambda _: "[1]", "Input should be an object"),
    "wrong value": (
        lambda text: text.replace('"verdict": "passed"', '"verdict": "great"', 1),
        "verdict: Input",
    ),
    "value that no digest keeps": (
        lambda text: text.replace('"final_answer": "42"', '"final_answer": 42'),
        "final_answer: Input",
    ),
    "unknown field": (lambda text: text.replace("{", '{"extra": 1,', 1), "extra: Extra"),
    "no name": (lambda text: text.replace('"query_id": "b"', '"query_id": ""'), "an id must not be empty"),
    "odd number": (
        lambda text: text.replace('"attempt": 1', '"attempt": 999999999'),
        "attempt: 999999999 is more",
    ),
}


def test_a_damaged_line_is_named(store: RunStore) -> None:
    """With its file, where it begins, what is wrong with it, and what to do."""
    add(store, "a")
    add(store, "b")
    first, second = file_of(store).read_text().splitlines()
    for name, (change, why) in DAMAGES.items():
        file_of(store).write_text(f"{first}\n{change(second)}\n")
        with pytest.raises(UsageError) as caught:
            read(store)
        message = str(caught.value)
        assert f"{file_of(store).name}, at byte {len(first.encode()) + 1}, is damaged: " in message, name
        assert why in message, name
        assert message.endswith("or remove it to have the attempt count as never made."), name
        assert "\n" not in message, name


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_what_is_no_plain_file_is_refused(store: RunStore, tmp_path: Path) -> None:
    """A pipe would hold the reader for ever, a link shows lines from anywhere."""
    add(store, "a")
    strange = store.root / "attempts/x.jsonl"
    os.mkfifo(strange)
    with pytest.raises(UsageError, match=r"x\.jsonl cannot be read"):
        read(store)
    strange.unlink()
    strange.symlink_to(file_of(store))
    with pytest.raises(UsageError, match=r"x\.jsonl cannot be read"):
        read(store)
    strange.unlink()
    (store.root / "attempts").rename(tmp_path / "elsewhere")
    (store.root / "attempts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="is a link"):
        read(store)
    store.begin_attempt(TrialKey("b"), "n")
    with pytest.raises(OSError, match="is a link"):
        store.save_record(attempt("b"))


def test_a_process_reads_what_others_have_appended(store: RunStore) -> None:
    """And all of it again where a file was cut."""
    reader = RunStore(store.root)
    add(store, "a", FAILED)
    assert reader.verdict(TrialKey("a")) is FAILED
    add(RunStore(store.root, worker="gw1"), "b")
    assert reader.verdict(TrialKey("b")) is PASSED
    remove_lines(store.root, "a")
    assert reader.verdict(TrialKey("a")) is None
    assert reader.verdict(TrialKey("b")) is PASSED


def test_a_number_is_never_given_twice(store: RunStore) -> None:
    """A folder that was removed had a line, and a line that was removed a folder."""
    add(store, "a")
    (store.root / "tasks/a/default/1/attempt-1").rename(store.root / "gone")
    assert add(store, "a").attempt == 2
    remove_lines(store.root, "a")
    assert add(store, "a").attempt == 3


def test_a_run_that_is_summed_up_gets_no_line(store: RunStore) -> None:
    """An attempt that would not end comes too late, and leaves no record."""
    folder = store.begin_attempt(TrialKey("a"), "n")
    store.writer.close()
    store.save_record(attempt("a"))
    assert (read(store), (folder.path / "metadata.json").exists()) == ([], False)


def test_what_is_not_counted(store: RunStore) -> None:
    """A trial whose line something else has changed, until a later one; a line that one has not reported."""
    add(store, "a", FAILED)
    add(store, "b", FAILED)
    store.save_record(attempt("b", PASSED))
    line = store.run.update_lines().list_tries("tasks/b/default/1")[0].line
    assert line is not None
    of_a, of_b = ({"folder": f"tasks/{name}/default/1/attempt-1"} for name in "ab")
    store.append("rewritten.jsonl", {**of_a, "until": [1, 1], "line": None})
    store.append("rewritten.jsonl", {**of_b, "until": None, "line": line.hash})
    assert read(store) == [("b", 1, "failed", 1)]
    assert store.save_record(attempt("a", PASSED)).revision == 2
    assert store.save_record(attempt("b", PASSED)).revision == 3
    assert read(store) == [("a", 1, "passed", 2), ("b", 1, "passed", 3)]


def test_a_line_is_known_by_who_has_written_it(store: RunStore) -> None:
    """Another process may say the same; hashes are handed over once."""
    add(store, "a")
    (data,) = store.list_tries(TrialKey("a"))
    assert store.writer.has_written(data.line)
    assert not RunStore(store.root).writer.has_written(data.line)
    assert data.line is not None
    assert store.writer.take_fresh() == {data.line.hash: Noted("tasks/a/default/1/attempt-1", 1)}
    assert store.writer.take_fresh() == {}
