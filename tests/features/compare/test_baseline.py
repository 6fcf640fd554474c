"""Baselines: folders and committed files, and the rules that rest on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.analysis.gate import decide
from pytest_browsereval.config import GateConfig
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.compare.baseline import against_baseline, read_run, write_baseline
from pytest_browsereval.features.compare.compare import RunComparison, compare
from pytest_browsereval.features.compare.content import as_json
from pytest_browsereval.features.compare.rules import judge_baseline
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.summary import RunSummary
from tests.features.compare.test_compare import run
from tests.labelled import write_run
from tests.recorded import ERRORED, FAILED, PASSED, attempt


def decided(
    summary: RunSummary, gate: GateConfig, compared: RunComparison | str | None
) -> tuple[RuleResult, ...]:
    """Return what the gate says, with its rules on the baseline."""
    return decide(summary, gate, tuple(judge_baseline(gate, compared)))


def rules(base: Path, attempts: list[TaskMetadata], **gate: Any) -> dict[str, RuleResult]:
    """Return what the rules say of a run; its baseline is the run ``a`` beside it."""
    found = run(base / "b", *attempts)
    config = GateConfig.model_validate({"baseline": base / "a", "max_error_rate": 1, **gate})
    compared = against_baseline(config, found)
    return {r.name: r for r in decided(StoredRun(base / "b").summary, config, compared)}


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
    by_folder, by_file = as_json(compare(one, other)), as_json(compare(read, other))
    assert by_file.pop("a") == {**by_folder.pop("a"), "folder": str(tmp_path / "base.json")}
    assert by_file == by_folder
    lines = (tmp_path / "base.json").read_text().splitlines()
    named = [json.loads(line.strip().rstrip(","))["query_id"] for line in lines if '"query_id"' in line]
    assert named == sorted(named)


def test_regressions(tmp_path: Path) -> None:
    """Tasks that pass less often, or passed and are gone; errored and edited ones are told beside."""
    run(
        tmp_path / "a",
        *(attempt(name) for name in "abcdef"),
        attempt("g", FAILED),
        attempt("h", row_hash="1"),
    )
    now = [
        *(attempt(name, FAILED) for name in "ab"),
        *(attempt("c", ERRORED), attempt("e"), attempt("f"), attempt("h", FAILED, row_hash="2")),
    ]
    (found,) = [r for r in rules(tmp_path, now, max_regressions=2).values() if r.name == "max_regressions"]
    assert (found.is_met, found.message) == (
        False,
        (
            "3 regressed against a (a, b, d), 1 of them without a result; at most 2. "
            "Not counted: 1 newly errored, 1 row edited"
        ),
    )


def test_what_the_baseline_lacks_is_told(tmp_path: Path) -> None:
    """A baseline of a few rows says nothing of the others."""
    run(tmp_path / "a", attempt("a"))
    found = rules(tmp_path, [attempt("a"), *(attempt(name, FAILED) for name in "bc")], max_regressions=0)
    assert found["max_regressions"].message == (
        "0 regressed against a; at most 0. Not counted: 2 that the baseline lacks"
    )


@pytest.mark.parametrize(
    ("lost", "of", "confidence", "word"),
    [
        (3, 40, None, "not met"),
        (2, 40, None, "met"),
        (2, 40, 0.95, "undecided"),
        (0, 300, 0.95, "met"),
        (30, 60, 0.95, "not met"),
    ],
)
def test_drops(tmp_path: Path, lost: int, of: int, confidence: float | None, word: str) -> None:
    """The rate over the tasks of both may be so much lower; with a confidence, surely so."""
    run(tmp_path / "a", *(attempt(str(n)) for n in range(of)))
    now = [attempt(str(n), FAILED if n < lost else PASSED) for n in range(of)]
    found = rules(tmp_path, now, max_drop=0.05, confidence=confidence)["max_drop"]
    assert (found.word, found.is_met) == (word, word == "met")
    assert f"({of} tasks in both, 0 gained, {lost} lost)" in found.message


@pytest.mark.parametrize(
    ("times", "word"),
    [(1, "undecided"), (5, "undecided"), pytest.param(14, "not met", marks=pytest.mark.slow)],
)
def test_so_many_more_tasks_tell_whether_the_drop_is_allowed(tmp_path: Path, times: int, word: str) -> None:
    """It is counted for the rule's own ceiling: 20 points are easily below 0, and hardly below -15."""
    lost, gained, of = 15 * times, 3 * times, 60 * times
    run(tmp_path / "a", *(attempt(str(n), PASSED if n >= gained else FAILED) for n in range(of)))
    now = [attempt(str(n), FAILED if gained <= n < gained + lost else PASSED) for n in range(of)]
    found = rules(tmp_path, now, max_drop=0.15, confidence=0.95)["max_drop"]
    assert found.word == word
    if times == 1:
        assert found.message.endswith("about 762 more tasks would decide")


def test_a_drop_that_is_just_allowed(tmp_path: Path) -> None:
    """Three of 20 tasks that lose two of three trials are 10 points, whatever thirds are rounded to."""
    run(tmp_path / "a", *(attempt(str(n), trial=t) for n in range(20) for t in (1, 2, 3)))
    now = [
        attempt(str(n), FAILED if n < 3 and t < 3 else PASSED, trial=t) for n in range(20) for t in (1, 2, 3)
    ]
    assert rules(tmp_path, now, max_drop=0.1)["max_drop"].is_met
    assert not rules(tmp_path, now, max_drop=0.0999)["max_drop"].is_met


def test_without_a_common_task(tmp_path: Path) -> None:
    """A baseline of another dataset is refused; one that has judged nothing of it meets no rule."""
    run(tmp_path / "a", attempt("x"))
    with pytest.raises(UsageError, match="have no task in common"):
        rules(tmp_path, [attempt("y")], max_regressions=0)
    run(tmp_path / "c", attempt("y", ERRORED))
    compared = compare(read_run(tmp_path / "c"), read_run(tmp_path / "b"))
    gate = GateConfig(baseline=Path("c"), max_drop=0.05, max_regressions=0)
    for found in decided(StoredRun(tmp_path / "b").summary, gate, compared)[-2:]:
        assert (found.is_met, found.message) == (False, "no task was judged both here and in c")
    for why in ("it is gone", None):
        found = decided(StoredRun(tmp_path / "b").summary, gate, why)[-1]
        assert (found.name, found.is_met) == ("max_drop", False)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "is not a baseline, or is damaged: Expecting property name"),
        ('{"trials": []}', "is not a baseline, or is damaged: 'baseline_version'"),
        ('{"baseline_version": 2}', "is of form 2, and this version reads form 1"),
        ('{"baseline_version": 1, "selected": 1, "manifest": {}, "trials": []}', "has no trial"),
        ('{"baseline_version": 1, "selected": 1, "manifest": {}, "trials": [{"query_id": 1}]}', "is damaged"),
        ('{"baseline_version": 1, "selected": 1, "manifest": 3, "trials": []}', "is damaged"),
    ],
)
def test_damaged_files(tmp_path: Path, content: str, told: str) -> None:
    """A file that was cut, edited or written by a newer version is told with what to type."""
    file = tmp_path / "base.json"
    file.write_text(content)
    with pytest.raises(UsageError, match=told) as caught:
        read_run(file)
    assert "Write it with `browsereval export RUN --to baseline -o FILE`" in str(caught.value)


def test_a_trial_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """A file that was merged by hand would count it twice."""
    write_baseline(run(tmp_path / "a", attempt("t"), attempt("u")), tmp_path / "base.json")
    content = json.loads((tmp_path / "base.json").read_text())
    content["trials"].append(content["trials"][0])
    (tmp_path / "base.json").write_text(json.dumps(content))
    with pytest.raises(UsageError, match=r"is damaged: trial 1 of 't' by default is in it twice\. Write"):
        read_run(tmp_path / "base.json")


def test_tasks_in_quarantine_regress_nothing(tmp_path: Path) -> None:
    """Neither one by one nor in the rate over the tasks of both."""
    run(tmp_path / "a", attempt("a"), attempt("b"))
    found = run(tmp_path / "b", attempt("a"), attempt("b", FAILED))
    gate = GateConfig(baseline=tmp_path / "a", max_drop=0, max_regressions=0)
    for left_out, is_met in (((), False), (("b",), True)):
        compared = against_baseline(gate, found, left_out=left_out)
        results = {r.name: r.is_met for r in decided(StoredRun(tmp_path / "b").summary, gate, compared)}
        assert (results["max_regressions"], results["max_drop"]) == (is_met, is_met)


@pytest.mark.parametrize(
    ("now", "left_out", "told"),
    [
        (["a"], ("a",), "all that the baseline has is in quarantine"),
        (["z"], ("z",), "all that this run has is in quarantine"),
        ([], (), "this run has no result"),
    ],
    ids=["baseline", "run", "nothing ran"],
)
def test_a_side_without_a_trial_misses_the_rules(
    tmp_path: Path, now: list[str], left_out: tuple[str, ...], told: str
) -> None:
    """It is no crash and no wrong usage: the rules are there, and say which side has nothing."""
    run(tmp_path / "a", attempt("a"))
    (tmp_path / "b/tasks").mkdir(parents=True)
    store = write_run(tmp_path / "b", *map(attempt, now))
    found, gate = (
        StoredRun(store.root).summary,
        GateConfig(baseline=tmp_path / "a", max_drop=0.1, max_regressions=0),
    )
    compared = against_baseline(gate, StoredRun(store.root), left_out=left_out)
    for result in decided(found, gate, compared)[-2:]:
        assert (result.is_met, result.message) == (False, f"no task was judged both here and in a: {told}")
