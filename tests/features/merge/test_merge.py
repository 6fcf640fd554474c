"""Shards become one run: no trial lost, none twice, and nothing that is not of one eval."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.labelling.labels import match, own_labels
from pytest_browsereval.features.merge.merge import merge_runs
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.run.selection import note_selected, read_selected
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.run import StoredRun
from tests.recorded import ERRORED, FAILED, PASSED, attempt, spoil_line, write_grades, write_summary

MANIFEST = {"config": {"trials": 1}, "datasets": [{"file": "rows.jsonl", "sha256": "0"}], "browser": "x 1"}


def part(folder: Path, *attempts: TaskMetadata, selected: int | None = None, **manifest: Any) -> RunStore:
    """Write a run."""
    store = RunStore(folder)
    for one in attempts:
        made = store.begin_attempt(TrialKey(one.query_id, one.variant, one.trial), "f::x")
        given = one.model_copy(update={"attempt": made.number})
        store.save_record(given)
        write_grades(made.path, given)
        (made.path / "messages.jsonl").write_text(one.query_id)
        made.finish()
    store.write_manifest({**MANIFEST, **manifest})
    if selected is not None:
        write_summary(store, selected=selected, skipped=0)
    return store


def test_parts_become_one_run(tmp_path: Path) -> None:
    """With all attempts and files, what was spent, and how many there were to be."""
    one = part(tmp_path / "1", attempt("a"), attempt("b", ERRORED), attempt("b", FAILED), selected=2)
    other = part(tmp_path / "2", attempt("c"), selected=3)
    for store in (one, other):
        store.append("spent.jsonl", {"attempt": store.root.name, "cost_usd": 1})
    merged = merge_runs([one.root, other.root], tmp_path / "all")
    assert (merged.trials, merged.selected, merged.notes) == (3, 5, ())
    store = RunStore(tmp_path / "all")
    verdicts = {t.last.query_id: (t.verdict, len(t.attempts)) for t in StoredRun(store.root).summary.trials}
    assert verdicts == {"a": (PASSED, 1), "b": (FAILED, 2), "c": (PASSED, 1)}
    assert (store.trial_folder(TrialKey("c")) / "attempt-1/messages.jsonl").read_text() == "c"
    assert (
        store.run.count_selected(),
        store.run.count_skipped(),
        store.run.read_manifest()["merged_from"],
    ) == (5, 0, ["1", "2"])
    assert len((store.root / "spent.jsonl").read_text().splitlines()) == 2
    assert not list(tmp_path.glob(".*"))


def test_folders_above_the_new_run_are_made(tmp_path: Path) -> None:
    """`results/shop` is not there where all parts came from other machines."""
    one, other = (
        part(tmp_path / "1", attempt("a"), selected=1),
        part(tmp_path / "2", attempt("b"), selected=1),
    )
    target = tmp_path / "results/shop/whole"
    assert merge_runs([one.root, other.root], target).trials == 2
    assert (target / "manifest.json").is_file()


def test_a_part_that_was_ended_leaves_the_whole_open(tmp_path: Path) -> None:
    """How many trials it was to have is in its manifest; without that nobody knows."""
    one, other = part(tmp_path / "1", attempt("a"), selected=1), part(tmp_path / "2", attempt("b"))
    assert merge_runs([one.root, other.root], tmp_path / "all").selected is None
    (other.root / "manifest.json").write_text(json.dumps({**MANIFEST, "selected": 4}))
    assert merge_runs([one.root, other.root], tmp_path / "more").selected == 5


def test_the_selection_of_all_parts_comes_along(tmp_path: Path) -> None:
    """A part that was ended counts with what it was to have; where one does not tell, the whole does not."""
    one = RunStore(tmp_path / "1")
    note_selected(one, [TrialKey("a"), TrialKey("b")])
    part(one.root, attempt("a"), selected=2)
    other = RunStore(tmp_path / "2")
    note_selected(other, [TrialKey("c"), TrialKey("d")])
    part(other.root, attempt("c"))
    assert merge_runs([one.root, other.root], tmp_path / "all").selected == 4
    assert read_selected(StoredRun(tmp_path / "all")) == frozenset(map(TrialKey, "abcd"))
    part(tmp_path / "3", attempt("e"), selected=1)
    assert merge_runs([one.root, tmp_path / "3"], tmp_path / "more").selected == 3
    assert read_selected(StoredRun(tmp_path / "more")) is None


def test_grading_one_part_again_is_told(tmp_path: Path) -> None:
    """Its verdicts may be by other graders than those of the rest."""
    again = attempt("a").model_copy(update={"regraded_at": "2026-11-01T00:00:00.000Z"})
    one, other = part(tmp_path / "1", again, selected=1), part(tmp_path / "2", attempt("b"), selected=1)
    (told,) = merge_runs([one.root, other.root], tmp_path / "all").notes
    assert told == "attempts of 1 were graded again, and those of the other runs were not"


def test_the_same_trial_twice_is_one(tmp_path: Path) -> None:
    """Another result of it is refused, with whose it is."""
    one = part(tmp_path / "1", attempt("a"), attempt("b"), selected=2)
    same = part(tmp_path / "2", attempt("b"), attempt("c"), selected=2)
    merged = merge_runs([one.root, same.root], tmp_path / "all")
    assert (merged.trials, merged.selected) == (3, 3)
    other = part(tmp_path / "3", attempt("b", FAILED), selected=1)
    with pytest.raises(UsageError, match=r"1 trial with different results .*: b \(1, 3\)\. Parts of one run"):
        merge_runs([one.root, other.root], tmp_path / "no")
    assert not (tmp_path / "no").exists()


def test_machines_may_differ_and_evals_may_not(tmp_path: Path) -> None:
    """The browser is told; config and datasets are refused with what differs."""
    one = part(tmp_path / "1", attempt("a"), selected=1)
    other = part(tmp_path / "2", attempt("b"), selected=1, browser="x 2", python="3.13")
    assert set(merge_runs([one.root, other.root], tmp_path / "all").notes) == {
        "1 -> 2: browser: x 1 -> x 2",
        "1 -> 2: python: none -> 3.13",
    }
    others: list[dict[str, Any]] = [{"config": {"trials": 2}}, {"datasets": [{"sha256": "1"}]}]
    for number, changed in enumerate(others):
        wrong = part(tmp_path / f"wrong-{number}", attempt("b"), selected=1, **changed)
        with pytest.raises(UsageError, match=r"(?s)not parts of one run.*made differently:\n  "):
            merge_runs([one.root, wrong.root], tmp_path / "no")


def test_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Told before anything is written, as all of the commands do."""
    one = part(tmp_path / "1", attempt("a"), selected=1)
    other = part(tmp_path / "2", attempt("b"), selected=1)
    damaged = part(tmp_path / "3", attempt("c"), selected=1)
    spoil_line(damaged.root, "c")
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").touch()
    cases = {
        (one.root,): "one run cannot be merged alone",
        (one.root, one.root): "is named twice",
        (one.root, tmp_path): "is not a run folder",
        (one.root, damaged.root): "is damaged: verdict",
    }
    for runs, told in cases.items():
        assert main(["merge", *map(str, runs), "-o", str(tmp_path / "no")]) == 4
        assert told in capsys.readouterr().err
    assert main(["merge", str(one.root), str(other.root), "-o", str(tmp_path / "full")]) == 4
    assert "already exists and has files in it" in capsys.readouterr().err
    assert not (tmp_path / "no").exists()
    with one.locks.hold():
        assert main(["merge", str(one.root), str(other.root), "-o", str(tmp_path / "no")]) == 4
    assert "a process is still writing this run" in capsys.readouterr().err


def test_labels_stay_with_their_attempts(tmp_path: Path) -> None:
    """They name the run that they were given in, which is now another one; others stay as they are."""
    one, other = (
        part(tmp_path / "1", attempt("a"), selected=1),
        part(tmp_path / "2", attempt("b"), selected=1),
    )
    lines = {
        one: [{"run": "1", "query_id": "a", "note": "ü"}, {"run": "elsewhere", "query_id": "x"}],
        other: [{"query_id": "b"}, {"run": "1", "query_id": "a", "labeller": "eve"}],
    }
    for store, given in lines.items():
        text = "\n".join(json.dumps({"label": "pass", **label}) for label in given)
        (store.root / "labels.jsonl").write_text(text)  # the last line has lost its end
    merge_runs([one.root, other.root], tmp_path / "all")
    merged = StoredRun(tmp_path / "all")
    by_attempt, homeless = match(own_labels(merged), merged.attempts)
    found = {folder.parts[-4]: sorted(labels) for folder, labels in by_attempt.items()}
    assert found == {"a": ["", "eve"], "b": [""]}
    assert [str(label) for _, label in homeless] == ["query_id x, run elsewhere"]
    (other.root / "labels.jsonl").write_text("{")
    merge_runs([one.root, other.root], tmp_path / "more")
    with pytest.raises(UsageError, match=r"labels.jsonl:3: "):
        own_labels(StoredRun(tmp_path / "more"))


def test_the_command_tells_the_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pass rate, folder, and a page."""
    one = part(tmp_path / "1", attempt("a"), selected=1)
    other = part(tmp_path / "2", attempt("b", FAILED), selected=2)
    assert main(["merge", str(one.root), str(other.root), "-o", str(tmp_path / "all")]) == 0
    out = capsys.readouterr().out
    assert "pass rate 50.0% (1 of 2 judged) · 1 not run" in out
    assert f"2 runs, 2 trials: {tmp_path / 'all'}" in out
    assert (tmp_path / "all/index.html").is_file()
