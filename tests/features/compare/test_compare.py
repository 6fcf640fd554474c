"""Two runs, task by task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.compare.baseline import read_run
from pytest_browsereval.features.compare.compare import Change, RunComparison, compare
from pytest_browsereval.features.shared.paired import Judgement, Method
from pytest_browsereval.model.derived import Derived
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.stats.statistics import Share
from tests.labelled import write_run
from tests.recorded import ERRORED, FAILED, PASSED, attempt, spoil_line, write_summary


def run(root: Path, *attempts: TaskMetadata, manifest: dict[str, Any] | None = None) -> StoredRun:
    """Return a run of these attempts, as its folder tells it."""
    store = write_run(root, *attempts)
    store.write_manifest(manifest or {"browser": "one"})
    write_summary(store, selected=len(attempts))
    return read_run(root)


def two(tmp_path: Path, a: list[TaskMetadata], b: list[TaskMetadata], **more: Any) -> RunComparison:
    """Return the comparison of two runs."""
    return compare(run(tmp_path / "a", *a), run(tmp_path / "b", *b), **more)


def test_every_task_comes_to_something(tmp_path: Path) -> None:
    """Each kind of change is told, and the difference rests on those that are judged in both."""
    a = [
        *(attempt(name, PASSED) for name in ("alike", "lost", "broke", "only-a")),
        *(attempt(name, FAILED) for name in ("gained", "alike-too")),
        *(attempt(name, ERRORED) for name in ("mended", "broken")),
        attempt("edited", PASSED, row_hash="1"),
    ]
    b = [
        *(attempt(name, PASSED) for name in ("alike", "gained", "mended", "only-b")),
        *(attempt(name, FAILED) for name in ("lost", "alike-too")),
        *(attempt(name, ERRORED) for name in ("broke", "broken")),
        attempt("edited", FAILED, row_hash="2"),
    ]
    found = two(tmp_path, a, b)
    assert {pair.query_id: pair.change for pair in found.whole.pairs} == {
        "alike": Change.UNCHANGED,
        "alike-too": Change.UNCHANGED,
        "lost": Change.LOST,
        "broke": Change.NEWLY_ERRORED,
        "only-a": Change.ONLY_A,
        "gained": Change.GAINED,
        "mended": Change.NO_LONGER_ERRORED,
        "broken": Change.STILL_ERRORED,
        "edited": Change.EDITED,
        "only-b": Change.ONLY_B,
    }
    one = found.whole.paired
    assert (one.tasks, one.gained, one.lost, one.value) == (4, 1, 1, 0.0)
    assert (found.whole.rate_a.passed, found.whole.rate_a.judged) == (5, 7)
    assert found.whole.judgement is Judgement.INCONCLUSIVE


def test_a_trial_that_was_not_judged_has_no_row(tmp_path: Path) -> None:
    """It keeps its old row where others were graded again by a corrected one: the task is not edited."""
    a = [attempt("x", PASSED, row_hash="2"), attempt("x", ERRORED, trial=2, row_hash="1")]
    found = two(tmp_path, a, [attempt("x", FAILED, row_hash="2")])
    assert [pair.change for pair in found.whole.pairs] == [Change.LOST]
    only = two(tmp_path / "more", [attempt("x", ERRORED, row_hash="1")], [attempt("x", PASSED, row_hash="2")])
    assert [pair.change for pair in only.whole.pairs] == [Change.EDITED]


def test_trials_of_a_task_stay_together(tmp_path: Path) -> None:
    """A task counts by its share of judged trials; the difference is the mean over tasks."""
    verdicts_a = {"x": [PASSED, FAILED, FAILED], "y": [PASSED, PASSED, ERRORED], "z": [FAILED] * 3}
    verdicts_b = {
        "x": [PASSED, PASSED, FAILED],
        "y": [PASSED, FAILED, FAILED],
        "z": [ERRORED, FAILED, FAILED],
    }
    a, b = (
        [attempt(name, v, trial=n) for name, found in run.items() for n, v in enumerate(found, 1)]
        for run in (verdicts_a, verdicts_b)
    )
    found = two(tmp_path, a, b)
    assert {
        pair.query_id: (pair.a and pair.a.outcome, pair.b and pair.b.outcome) for pair in found.whole.pairs
    } == {
        "x": ("1/3 passed", "2/3 passed"),
        "y": ("2/2 passed, 1 errored", "1/3 passed"),
        "z": ("0/3 passed", "0/2 passed, 1 errored"),
    }
    one = found.whole.paired
    assert (one.tasks, one.gained, one.lost) == (3, 1, 1)
    assert one.value == pytest.approx((1 / 3 - 2 / 3) / 3)


def test_other_numbers_of_trials_lose_nothing(tmp_path: Path) -> None:
    """Of one trial against five, one of the five that fails is no loss: most of them have to fail."""
    verdicts = {"x": (4, 1), "y": (2, 3), "z": (5, 0)}
    a = [attempt(name, PASSED if name != "z" else FAILED) for name in verdicts]
    b = [
        attempt(name, PASSED if n < passed else FAILED, trial=n + 1)
        for name, (passed, _) in verdicts.items()
        for n in range(5)
    ]
    found = two(tmp_path, a, b)
    assert {pair.query_id: pair.change for pair in found.whole.pairs} == {
        "x": Change.UNCHANGED,
        "y": Change.LOST,
        "z": Change.GAINED,
    }
    one = found.whole.paired
    assert (one.gained, one.lost, one.changed, one.test) == (1, 1, 3, Method.EXCHANGE)
    assert [
        note
        for note in found.notes
        if note.endswith("passed in one and most failed in the other") and " 3 tasks, " in note
    ]
    half = two(tmp_path / "half", a, [one for one in b if one.trial in (2, 3)])
    assert half.whole.counts == {Change.UNCHANGED: 2, Change.GAINED: 1}


def test_variants_of_a_task_are_one_task(tmp_path: Path) -> None:
    """Each variant has figures of its own; in the whole a task counts once, whatever its variants."""
    a = [attempt(name, FAILED, variant=v) for name in "tu" for v in ("kimi", "gpt", "old")]
    b = [attempt(name, PASSED if v == "gpt" else FAILED, variant=v) for name in "tu" for v in ("kimi", "gpt")]
    found = two(tmp_path, a, b)
    assert {name: part.paired.value for name, part in found.variants.items()} == {
        "gpt": 1.0,
        "kimi": 0.0,
        "old": None,
    }
    assert (found.whole.paired.tasks, found.whole.paired.value) == (2, 0.5)
    assert found.whole.counts[Change.ONLY_A] == 2


def test_variants_of_two_names(tmp_path: Path) -> None:
    """Two single variants are compared whatever their names; of several, two are named."""
    found = two(tmp_path, [attempt("t", FAILED, variant="old")], [attempt("t", PASSED, variant="new")])
    assert found.whole.counts == {Change.GAINED: 1}
    assert found.notes == ["variant old of A is compared with variant new of B"]
    one = run(tmp_path / "c", attempt("t", PASSED, variant="x"), attempt("t", FAILED, variant="y"))
    within = compare(one, one, variants=("x", "y"))
    assert [(pair.change, pair.variant) for pair in within.whole.pairs] == [(Change.LOST, "x")]
    # B has an x of its own, whose trials are none of y's
    assert (within.whole.rate_a.share, within.whole.rate_b.share) == (Share(1, 1), Share(0, 1))
    with pytest.raises(UsageError, match=r"has no variant 'xx'\. Did you mean 'x'\? It has: x, y\."):
        compare(one, one, variants=("xx", "y"))
    with pytest.raises(UsageError, match=r"/a has 't' of old; \S+/c has 't' of x, y\. .* --variants A=B\."):
        compare(found.a, one)


def test_steps_time_and_money(tmp_path: Path) -> None:
    """Of the tasks that were judged in both; the interval of the change is by Student's t over tasks."""
    a = [attempt(n, total_steps=s, total_duration_ms=1000.0 * s, cost_usd=c) for n, s, c in
         (("t", 4, 0.1), ("u", 6, 0.3), ("v", 5, None))]  # fmt: skip
    b = [attempt(n, total_steps=s, total_duration_ms=1000.0 * s, cost_usd=0.1) for n, s in
         (("t", 6), ("u", 9), ("v", 6), ("w", 99))]  # fmt: skip
    found = two(tmp_path, a, b)
    steps, time, cost = found.as_json()["measures"].values()
    assert [steps[key] for key in ("a", "b", "change", "tasks")] == [5, 7, 2, 3]
    assert steps["interval"] == pytest.approx([2 - 2.4841, 2 + 2.4841], abs=1e-4)
    assert (time["a"], time["change"]) == (5, 2)
    assert (cost["tasks"], cost["change"]) == (2, pytest.approx(-0.1))


def test_what_else_differs(tmp_path: Path) -> None:
    """What the runs were made of, key by key, judges too; time, place, speed and gate are no difference."""
    first = {"started_at": "1", "config": {"limits": {"max_steps": 10}, "lanes": 1, "gate": {}}}
    second = {
        "started_at": "2",
        "config": {"limits": {"max_steps": 20}, "lanes": 8, "gate": {"rows": "fail"}},
    }
    new = attempt().grader_results["answer"].model_copy(update={"fingerprint": "gpt-5 v2"})
    found = compare(
        run(tmp_path / "a", attempt(), manifest=first),
        run(tmp_path / "b", attempt(grader_results={"answer": new}), manifest=second),
    )
    assert found.differences == (
        "config.limits.max_steps: 10 -> 20",
        "grader answer: without a fingerprint -> gpt-5 v2",
    )


def test_runs_that_cannot_be_compared(tmp_path: Path) -> None:
    """A run of other rows, an empty folder and a damaged file are told with what to do."""
    one, other = run(tmp_path / "a", attempt("t")), run(tmp_path / "b", attempt("u"))
    with pytest.raises(
        UsageError, match=r"no task in common: \S+/a has 't' of default; \S+/b has 'u' of default"
    ):
        compare(one, other)
    with pytest.raises(UsageError, match=r"nowhere is not a folder: give a run folder"):
        read_run(tmp_path / "nowhere")
    (tmp_path / "empty/tasks").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"has no finished attempt"):
        read_run(tmp_path / "empty")
    empty = StoredRun(tmp_path / "empty")
    with pytest.raises(UsageError, match=r"/empty has no result; "):
        compare(empty, one)
    spoil_line(tmp_path / "b", "u")
    with pytest.raises(UsageError, match=r"is damaged: verdict"):
        read_run(tmp_path / "b")


def test_runs_that_are_not_whole_are_told(tmp_path: Path) -> None:
    """What a run lacks is no reason to refuse it, and is told; a missing manifest and summary too."""
    run(tmp_path / "a", attempt("t"), attempt("u"))
    (tmp_path / "a/manifest.json").unlink()
    write_summary(RunStore(tmp_path / "a"), selected=5)
    run(tmp_path / "b", attempt("t"))
    (tmp_path / "b/summary.json").unlink()
    found = compare(read_run(tmp_path / "a"), read_run(tmp_path / "b"))
    assert found.notes == [
        "A lacks 3 of its 5 trials",
        "B was ended before its summary was written: how many trials it lacks is unknown",
    ]
    assert found.whole.rate_a.excluded == {"not run": 3}
    assert found.differences == ("the manifest of A is missing or damaged, so what else differs is unknown",)


def test_trials_under_attack_are_told_of(tmp_path: Path) -> None:
    """They are compared elsewhere: a run that is compromised each time may look as good as another one."""
    under = [
        attempt(f"{name}.under.review", FAILED, derived=Derived("attack", "review", name)) for name in "tu"
    ]
    run(tmp_path / "a", attempt("t"), attempt("u"), *under)
    run(tmp_path / "b", attempt("t"), attempt("u"), under[0])
    found = compare(read_run(tmp_path / "a"), read_run(tmp_path / "b"))
    start, end = "not compared, since under attack:", "see browsereval attacks"
    assert found.notes == [f"{start} 2 trials of A; {end}", f"{start} 1 trial of B; {end}"]


def test_json_is_complete(tmp_path: Path) -> None:
    """All tasks with both sides, all counts, both rates, the test and its interval."""
    a = [attempt(str(n), PASSED if n % 3 else FAILED) for n in range(30)]
    b = [attempt(str(n), PASSED if n % 4 else FAILED, total_steps=4) for n in range(30)]
    content = json.loads(json.dumps(two(tmp_path, a, b).as_json()))
    assert len(content["tasks"]) == 30
    side = {"passed": 0, "failed": 1, "errored": 0, "reason": "0 failed", "row_hash": ""}
    assert content["tasks"][0]["b"] == {**side, "steps": 4.0, "time": 2.0, "cost": 0.0}
    assert set(content["counts"]) == {str(change) for change in Change}
    assert (content["counts"]["gained"], content["counts"]["lost"]) == (7, 5)
    assert content["difference"] == pytest.approx(2 / 30)
    assert (content["pass_rate"]["a"]["judged"], content["verdict"]) == (30, "inconclusive")
    assert content["more_tasks_needed"] > 0
    assert content["interval"][0] < content["difference"] < content["interval"][1]
