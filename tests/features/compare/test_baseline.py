"""Baselines: folders and committed files, and the rules that rest on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.config import GateConfig
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.compare.baseline import read_run, write_baseline
from pytest_browsereval.features.compare.compare import compare
from pytest_browsereval.features.compare.rules import judge_run
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.runs.run import StoredRun
from tests.features.compare.test_compare import run
from tests.labelled import write_run
from tests.recorded import ERRORED, FAILED, PASSED, attempt


def judge(base: Path, attempts: list[TaskMetadata], **gate: Any) -> dict[str, RuleResult]:
    """Return what the rules say of a run; its baseline is the run ``a`` next to it."""
    (base / "b/tasks").mkdir(parents=True, exist_ok=True)
    store = write_run(base / "b", *attempts)
    config = GateConfig.model_validate({"baseline": base / "a", **gate})
    return {one.name: one for one in judge_run(StoredRun(store.root), config)}


def test_a_file_says_what_its_folder_says(tmp_path: Path) -> None:
    """A comparison with a baseline's file is the one with its run, but for the place; lines are sorted."""
    a = [
        attempt(f"t{n}", FAILED if n % 3 else PASSED, tags=("x",), website="w", cost_usd=None)
        for n in range(9)
    ]
    one, other = run(tmp_path / "a", *a, attempt("e", ERRORED)), run(tmp_path / "b", *a, attempt("e"))
    write_baseline(one, tmp_path / "base.json")
    read = read_run(tmp_path / "base.json")
    write_baseline(read, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == (tmp_path / "base.json").read_text()
    by_folder, by_file = compare(one, other).as_json(), compare(read, other).as_json()
    assert by_file.pop("a") == {**by_folder.pop("a"), "folder": str(tmp_path / "base.json")}
    assert by_file == by_folder
    lines = (tmp_path / "base.json").read_text().splitlines()
    named = [json.loads(line.strip().rstrip(","))["query_id"] for line in lines if '"query_id"' in line]
    assert named == sorted(named)


def test_regressions(tmp_path: Path) -> None:
    """Tasks that pass less often, or passed and are gone; the others are counted in the same message."""
    passed = (attempt(name) for name in "abcdef")
    run(tmp_path / "a", *passed, attempt("g", FAILED), attempt("h", row_hash="1"))
    now = [
        *(attempt(name, FAILED) for name in "abn"),
        *(attempt("c", ERRORED), attempt("e"), attempt("f"), attempt("h", FAILED, row_hash="2")),
    ]
    found = judge(tmp_path, now, max_regressions=2)["max_regressions"]
    assert not found.is_met
    assert found.message == (
        "3 tasks regressed against a (a, b, d), 1 of them without a result; 2 are allowed. "
        "Not counted: 1 newly errored, 1 row edited, 1 only in B"
    )


DROPS: list[tuple[int, int, float | None, str]] = [
    (3, 40, None, "not met"),
    (2, 40, None, "met"),
    (2, 40, 0.95, "undecided"),
    (0, 300, 0.95, "met"),
    (30, 60, 0.95, "not met"),
]


def test_drops(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """The rate over the tasks of both may be so much lower; with a confidence, surely so."""
    for place, (lost, of, confidence, word) in enumerate(DROPS):
        with subtests.test(lost=lost, of=of, confidence=confidence):
            base = tmp_path / str(place)
            run(base / "a", *(attempt(str(n)) for n in range(of)))
            now = [attempt(str(n), FAILED if n < lost else PASSED) for n in range(of)]
            found = judge(base, now, max_drop=0.05, confidence=confidence)["max_drop"]
            assert (found.word, found.is_met) == (word, word == "met")
            assert f"({of} tasks in both, 0 gained, {lost} lost)" in found.message
            assert ("no number of such tasks would decide" in found.message) is (word == "undecided")


def test_a_drop_that_is_just_allowed(tmp_path: Path) -> None:
    """Three of 20 tasks that lose two of three trials are 10 points, whatever thirds are rounded to."""
    trials = [(n, t) for n in range(20) for t in (1, 2, 3)]
    run(tmp_path / "a", *(attempt(str(n), trial=t) for n, t in trials))
    now = [attempt(str(n), FAILED if n < 3 and t < 3 else PASSED, trial=t) for n, t in trials]
    for ceiling, is_met in ((0.1, True), (0.0999, False)):
        assert judge(tmp_path, now, max_drop=ceiling)["max_drop"].is_met is is_met


def test_tasks_in_quarantine_regress_nothing(tmp_path: Path) -> None:
    """Neither one by one nor in the rate over the tasks of both."""
    run(tmp_path / "a", attempt("a"), attempt("b"))
    for quarantine, is_met in (({}, False), ({"b": "2099-01-01"}, True)):
        rules = {"max_drop": 0, "max_regressions": 0, "quarantine": quarantine}
        found = judge(tmp_path, [attempt("a"), attempt("b", FAILED)], **rules)
        assert [one.is_met for one in found.values()] == [is_met, is_met]


def test_what_cannot_be_compared_misses_the_rules(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """It is no crash and no wrong usage: the rules are there, and say why."""
    out = {"quarantine": {"a": "2099-01-01"}}
    cases: list[tuple[list[TaskMetadata], dict[str, Any], str]] = [
        ([attempt("z")], {}, "the runs have no task in common: "),
        ([attempt("a", ERRORED)], {}, "no task was judged both here and in a"),
        ([attempt("a")], out, "the baseline has no result of a task that is not in quarantine"),
        ([], {}, "this run has no result of a task"),
        ([attempt("a")], {"baseline": tmp_path / "gone"}, "is not a folder: give a run folder"),
    ]
    for place, (now, more, why) in enumerate(cases):
        with subtests.test(why=why):
            base = tmp_path / str(place)
            run(base / "a", attempt("a"))
            found = judge(base, now, max_drop=0.1, max_regressions=0, **more)
            assert [(one.is_met, why in one.message) for one in found.values()] == [(False, True)] * 2


def test_damaged_files(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """A file that was cut, edited, merged by hand or written by another version says what to type."""
    file, good = tmp_path / "base.json", tmp_path / "good.json"
    write_baseline(run(tmp_path / "a", attempt("t"), attempt("u")), good)
    content = json.loads(good.read_text())
    for text, why in (
        ("{", "Expecting property name"),
        (json.dumps({**content, "baseline_version": 2}), "this version reads form 1"),
        (json.dumps({**content, "trials": []}), "it has no trial"),
        (
            json.dumps({**content, "trials": content["trials"] + content["trials"][:1]}),
            "'t' has trial 1 twic",
        ),
    ):
        with subtests.test(text=text[:60]):
            file.write_text(text)
            with pytest.raises(UsageError, match="is not a baseline, or is damaged: ") as caught:
                read_run(file)
            assert why in str(caught.value)
            assert "Write it with `browsereval export RUN --to baseline -o FILE`" in str(caught.value)
