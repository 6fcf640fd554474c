"""Graders against people, from run folders and labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.labelling.agreement import cohens_kappa, measure
from pytest_browsereval.features.labelling.calibration import Bar, calibrate, hold
from pytest_browsereval.features.labelling.labels import own_labels, read_labels
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.runs.run import StoredRun
from tests.labelled import grade, graded, says, write_labels, write_run
from tests.recorded import ERRORED, FAILED, PASSED

PRINT = "j/1/model/0123"


def calibrated(
    folder: Path, attempts: list[TaskMetadata], labels: list[dict[str, Any]], graders: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return what labels say of attempts."""
    run = StoredRun(write_run(folder / "run", *attempts).root)
    return calibrate([run], read_labels(write_labels(folder / "labels.jsonl", *labels)), graders)


def counts_of(found: dict[str, Any]) -> tuple[int, ...]:
    """Return true and false positives, true and false negatives."""
    return tuple(found["confusion"].values())


def of_counts(folder: Path, tp: int, fp: int, tn: int, fn: int, **more: Any) -> dict[str, Any]:
    """Return a calibration of one judge with these counts."""
    counts = ((PASSED, "pass", tp), (PASSED, "fail", fp), (FAILED, "fail", tn), (FAILED, "pass", fn))
    attempts, labels = [], []
    for verdict, label, count in counts:
        for number in range(count):
            name = f"{verdict}-{label}-{number}"
            attempts.append(graded(name, grade("j", verdict, fingerprint=PRINT, **more)))
            labels.append(says(name, label))
    return calibrated(folder, attempts, labels)


def test_what_is_compared_and_what_is_left_out(tmp_path: Path) -> None:
    """Each attempt is in one cell, or is counted among what was left out, with the reason."""
    attempts = [
        graded("tp", grade("j", fingerprint=PRINT)),
        graded("fp", grade("j", fingerprint=PRINT, reasoning="\n it looks done \n more")),
        graded("tn", grade("j", FAILED, fingerprint=PRINT)),
        graded("fn", grade("j", FAILED, fingerprint=PRINT)),
        graded("errored", grade("j", ERRORED)),
        graded("other", grade("k")),
        graded("unclear", grade("j", fingerprint=PRINT)),
        graded("tied", grade("j", fingerprint=PRINT)),
        graded("unlabelled", grade("j", fingerprint=PRINT)),
        graded("broken"),
    ]
    labels = [
        *(says(name, "pass") for name in ("tp", "fn", "errored", "other")),
        *(says(name, "fail") for name in ("fp", "tn")),
        says("unclear", "unclear"),
        says("tied", "pass", "anna", saw_grades=True),
        says("tied", "fail", "ben"),
        says("nobody", "pass"),
    ]
    found = calibrated(tmp_path, attempts, labels)
    names = ("attempts", "labelled", "unclear", "tied", "unlabelled", "ungraded")
    assert [found[name] for name in names] == [10, 6, 1, 1, 1, 1]
    assert (found["labels"], found["labels_after_grades_were_seen"]) == (9, 1)
    assert [line.rpartition(":")[2] for line in found["labels_without_an_attempt"]] == [" query_id nobody"]
    judge, other = found["graders"]
    assert (judge["grader"], judge["fingerprint"], judge["n"], judge["not_graded"]) == ("j", PRINT, 4, 1)
    assert counts_of(judge) == (1, 1, 1, 1)
    keys = ("attempt", "label", "grade", "reason")
    told = [(*(one[key] for key in keys), Path(one["folder"]).name) for one in judge["disagreements"]]
    false_positive, false_negative = told
    assert false_positive == ("fp", "fail", "passed", "it looks done", "attempt-1")
    assert false_negative == ("fn", "pass", "failed", "j says failed", "attempt-1")
    assert [one["attempt"] for one in judge["errored_grades"]] == ["errored"]
    assert (other["grader"], counts_of(other)) == ("k", (1, 0, 0, 0))


def test_figures() -> None:
    """Every figure has its own denominator, and none is made of nothing."""
    found = measure(((18, 3), (2, 12)))
    names = ("accuracy", "precision", "recall", "false_positive_rate", "false_negative_rate")
    shares = [(found[name]["hits"], found[name]["of"]) for name in names]
    assert shares == [(30, 35), (18, 21), (18, 20), (3, 15), (2, 20)]
    chance = (21 * 20 + 14 * 15) / 35**2
    assert found["kappa"]["value"] == pytest.approx((30 / 35 - chance) / (1 - chance))
    alike = measure(((2, 0), (0, 0)))
    assert (alike["n"], alike["kappa"], alike["false_positive_rate"]["value"]) == (2, None, None)
    assert alike["accuracy"]["interval"] == pytest.approx([0.3424, 1.0], abs=1e-4)


PUBLISHED: list[tuple[list[list[int]], tuple[float, ...]]] = [
    (  # skin condition by two dermatologists: manual of SAS, PROC FREQ, agreement study
        [[10, 4, 1, 0], [5, 10, 12, 2], [2, 4, 12, 5], [0, 2, 6, 13]],
        (0.3449, 0.0724, 0.2030, 0.4868),
    ),
    # two dichotomous ratings: example of ci.kappa in R's statpsych
    ([[31, 12], [4, 58]], (0.6757, 0.0734, 0.5317, 0.8196)),
]


def test_kappa(subtests: pytest.Subtests) -> None:
    """Kappa, its standard error and its interval are those that others publish; few cases make a wide one."""
    for table, published in PUBLISHED:
        with subtests.test(table=table):
            turned = [list(column) for column in zip(*table, strict=True)]
            for found in (cohens_kappa(table), cohens_kappa(turned)):
                assert found
                given = (found["value"], found["standard_error"], *found["interval"])
                assert given == pytest.approx(published, abs=5e-5)
    for table, value, low, high in (
        # all agree, or one judge says the same of all
        ([[3, 0], [0, 3]], 1, (-1, 0.3), (1, 1)),
        ([[300, 0], [0, 300]], 1, (0.97, 0.9999), (1, 1)),
        ([[0, 0], [3, 7]], 0, (-1, -1), (0.5, 1)),
    ):
        found = cohens_kappa(table)
        assert found
        assert (found["value"], found["standard_error"]) == pytest.approx((value, 0))
        assert low[0] <= found["interval"][0] <= low[1]
        assert high[0] <= found["interval"][1] <= high[1]
    for table in ([[0, 0], [0, 0]], [[5, 0], [0, 0]], [[0, 0], [0, 5]]):
        assert cohens_kappa(table) is None


def test_fingerprints_are_never_put_together(tmp_path: Path) -> None:
    """One grader by two judges is two; a breakdown without a fingerprint is then of neither."""
    attempts = [
        graded("a", grade("j", fingerprint="j/1/old")),
        graded("b", grade("j", FAILED, fingerprint="j/1/new")),
        graded("c", grade("j", ERRORED)),
    ]
    found = calibrated(tmp_path, attempts, [says(name, "pass") for name in "abc"])
    told = {one["fingerprint"]: (one["n"], one["errored"], one["not_graded"]) for one in found["graders"]}
    assert told == {"j/1/old": (1, 0, 0), "j/1/new": (1, 0, 0), "": (0, 1, 0)}
    results = hold(found, Bar(min_kappa=0.1))
    assert [rule.is_met for rule in results] == [False, False, False]
    assert "j (j/1/old): kappa is not defined" in results[0].message
    assert "j (j/1/new): kappa 0.00 is under 0.1" in results[1].message
    assert "kappa is not defined" in results[2].message


def test_several_runs(tmp_path: Path) -> None:
    """A label has to name its run where several would fit; one in a run's own folder need not."""
    written = [write_run(tmp_path / "one", graded("a", grade("j")))]
    written.append(write_run(tmp_path / "two", graded("a", grade("j", FAILED))))
    runs = [StoredRun(one.root) for one in written]
    with pytest.raises(UsageError, match="fits 2 attempts"):
        calibrate(runs, read_labels(write_labels(tmp_path / "plain.jsonl", says("a", "pass"))))
    named = write_labels(tmp_path / "named.jsonl", says("a", "pass", run="one"), says("a", "pass", run="two"))
    found = calibrate(runs, read_labels(named))
    assert found["runs"] == ["one", "two"]
    assert counts_of(found["graders"][0]) == (1, 0, 0, 1)
    for run in runs:
        write_labels(run.folder / "labels.jsonl", says("a", "fail"))
    found = calibrate(runs, [line for run in runs for line in own_labels(run)])
    assert counts_of(found["graders"][0]) == (0, 1, 1, 0)


def test_people_are_compared_with_each_other(tmp_path: Path) -> None:
    """Each two labellers have their agreement, over what both call pass or fail; one alone has none."""
    attempts = [graded(name, grade("j")) for name in "abcd"]
    words = {"anna": ("pass", "fail", "pass", "unclear"), "ben": ("pass", "fail", "fail", "pass")}
    labels = [says(name, word, who) for who in words for name, word in zip("abcd", words[who], strict=True)]
    found = calibrated(tmp_path, attempts, labels)
    (pair,) = found["people"]
    assert (pair["labellers"], pair["n"], pair["agreement"]["hits"]) == (["anna", "ben"], 3, 2)
    assert pair["kappa"]["value"] == pytest.approx(0.4)
    assert (found["labelled"], found["tied"]) == (3, 1)
    assert calibrated(tmp_path / "alone", attempts, labels[:4])["people"] == []


def test_the_bar(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """The estimate has to reach the bar; a strict one asks it of the unfavourable end of the interval."""
    cases: list[tuple[Bar, dict[str, tuple[bool, str]]]] = [
        (Bar(min_kappa=0.7), {"min_kappa[j]": (True, "kappa 0.71 reaches 0.7")}),
        (Bar(min_kappa=0.72), {"min_kappa[j]": (False, "kappa 0.71 is under 0.72")}),
        (
            Bar(min_kappa=0.7, is_strict=True),
            {"min_kappa[j]": (False, "kappa 0.71, whose 95 % interval begins at 0.47, is under 0.7")},
        ),
        (Bar(max_fpr=0.2), {"max_fpr[j]": (True, "false-positive rate 20.0% (3/15) is within 20.0%")}),
        (Bar(max_fpr=0.1), {"max_fpr[j]": (False, "false-positive rate 20.0% (3/15) is over 10.0%")}),
        (
            Bar(max_fpr=0.4, is_strict=True),
            {"max_fpr[j]": (False, "(3/15), whose 95 % interval ends at 45.2%, is over 40.0%")},
        ),
    ]
    for bar, told in cases:
        with subtests.test(bar=bar, told=told):
            results = {rule.name: rule for rule in hold(of_counts(tmp_path, 18, 3, 12, 2), bar)}
            assert results.keys() == told.keys()
            for name, (is_met, message) in told.items():
                assert results[name].is_met is is_met
                assert results[name].message.endswith(message)
                assert results[name].message.startswith(f"j ({PRINT}): ")


def test_nothing_to_compare_is_never_green(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """No label, no grade, no fail among the labels: each misses the bar."""
    cases = {
        "unclear": ([graded("a", grade("j"))], [says("a", "unclear")]),
        "errored": ([graded("a", grade("j", ERRORED))], [says("a", "pass")]),
        "ungraded": ([graded("a")], [says("a", "pass")]),
    }
    for title, given in cases.items():
        with subtests.test(title):
            (rule,) = hold(calibrated(tmp_path / title, *given), Bar(min_kappa=0))
            assert (rule.name, rule.is_met) == ("labels", False)
            assert rule.message.startswith("no grade that decides could be compared with a label")
    (rule,) = hold(of_counts(tmp_path, 5, 0, 0, 1), Bar(max_fpr=1.0))
    assert not rule.is_met
    assert "of 6 attempts, none is labelled fail" in rule.message


def test_advisory_graders_are_held_to_the_bar_if_named(tmp_path: Path) -> None:
    """One that decides nothing may be bad; but where all are advisory and none is named, nothing was held."""
    found = of_counts(tmp_path, tp=1, fp=3, tn=1, fn=2, advisory=True)
    (rule,) = hold(found, Bar(min_kappa=0.5))
    assert (rule.name, rule.is_met) == ("labels", False)
    assert "name an advisory grader with --grader" in rule.message
    (rule,) = hold(found, Bar(min_kappa=0.5), ["j"])
    assert (rule.name, rule.is_met) == ("min_kappa[j]", False)
