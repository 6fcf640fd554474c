"""Pass rates corrected for the errors of judges: which trials, by which labels, and when not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.__main__ import main
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.labelling.agreement import Confusion
from pytest_browsereval.features.labelling.correction import (
    Calibrated,
    Correction,
    corrections,
    draw_corrections,
    read_calibration,
)
from pytest_browsereval.graders.verdicts import PassWhen, Primary
from pytest_browsereval.model.digest import AttemptDigest, digest
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.stats.statistics import Share
from tests.features.labelling.test_calibration import PRINT
from tests.labelled import grade, graded, says, write_labels, write_run
from tests.recorded import ERRORED, FAILED, PASSED, attempt

JUDGE = Calibrated("j", PRINT, Confusion(45, 10, 40, 5))
"""It passes 45 of 50 that people pass and fails 40 of 50 that people fail."""


def judged(passed: int, failed: int, **more: Any) -> list[AttemptDigest]:
    """Return trials that the judge alone has decided."""
    return [
        trial(grade("j", PASSED if n < passed else FAILED, **{"fingerprint": PRINT, **more}), name=f"t{n}")
        for n in range(passed + failed)
    ]


def trial(*grades: GraderResult, verdict: Verdict | None = None, name: str = "a") -> AttemptDigest:
    by_name = {one.grader: one for one in grades}
    return digest(attempt(name, verdict or grades[0].verdict, grader_results=by_name))


def only(trials: list[AttemptDigest], judge: Calibrated = JUDGE, rule: PassWhen = "all") -> Correction:
    (found,) = corrections(trials, (judge,), rule)
    return found


def test_the_rate_is_corrected() -> None:
    """60 of 100 seen, sensitivity 0.9, specificity 0.8: (0.6 + 0.8 - 1) / (0.9 + 0.8 - 1) is 4 of 7."""
    found = only(judged(60, 40))
    assert found.seen == Share(60, 100)
    assert found.corrected
    assert found.corrected.value == pytest.approx(4 / 7)
    ends = found.corrected.interval
    assert (ends.low, ends.high) == pytest.approx((0.39626, 0.74317), abs=5e-6)
    (line,) = draw_corrections([found])
    assert line == (
        "pass rate corrected for errors of j: 57.1% (95 % interval 39.6 to 74.3%) of the 100 judged trials "
        "that it decides alone; by 100 labelled attempts it passes 45 of 50 of what people pass and fails "
        "40 of 50 of what people fail"
    )
    told = found.as_json()
    assert (told["value"], told["interval"]) == (found.corrected.value, [ends.low, ends.high])
    assert (told["passed"], told["judged"], told["labels"], told["why_not"]) == (60, 100, 100, "")
    assert (told["sensitivity"]["value"], told["specificity"]["of"]) == (0.9, 50)


def test_trials_of_one_task_are_as_many_as_they_are_worth() -> None:
    """Twenty tasks that come out alike each time are twenty cases, and one task is not enough."""
    alike = [
        trial(grade("j", PASSED if n < 12 else FAILED, fingerprint=PRINT), name=f"t{n}")
        for n in range(20)
        for _ in range(20)
    ]
    many, few = only(alike), only(judged(12, 8))
    assert many.corrected
    assert few.corrected
    assert many.corrected.value == few.corrected.value
    one, other = ((found.interval.low, found.interval.high) for found in (many.corrected, few.corrected))
    assert one[0] < other[0] + 0.02  # and by Student's t a little wider
    assert one[1] > other[1] - 0.02
    (line,) = draw_corrections([only([trial(grade("j", fingerprint=PRINT))] * 5)])
    assert line.endswith("all 5 trials are of one task, which says nothing about others")


def test_only_trials_count_that_the_judge_decides() -> None:
    """Neither errored ones nor those that another grader decides with it; an advisory one decides nothing."""
    trials = [
        trial(grade("j", fingerprint=PRINT)),
        trial(grade("j", FAILED, fingerprint=PRINT), grade("k", PASSED, advisory=True)),
        trial(grade("j", fingerprint=PRINT), grade("k", PASSED)),
        trial(grade("k", PASSED)),
        trial(grade("j", ERRORED, fingerprint=PRINT)),
        trial(grade("j", fingerprint=PRINT, advisory=True), grade("k", PASSED), verdict=PASSED),
    ]
    assert only(trials).seen == Share(1, 2)
    assert only(trials, rule=Primary(primary="j")).seen == Share(2, 3)
    assert corrections(trials[2:4], (JUDGE,), "all") == ()
    (line,) = draw_corrections(())
    assert line.endswith("no calibrated judge decides a trial alone")


@pytest.mark.parametrize(
    ("confusion", "more", "told"),
    [
        (
            Confusion(9, 10, 40, 0),
            {},
            "people labelled 9 attempts pass and 50 fail; at least 10 of each are needed",
        ),
        (
            Confusion(45, 1, 8, 5),
            {},
            "people labelled 50 attempts pass and 9 fail; at least 10 of each are needed",
        ),
        (
            Confusion(25, 25, 25, 25),
            {},
            "it passes 25 of 50 of what people pass and fails 25 of 50 of what people fail, which is no",
        ),
        (
            JUDGE.confusion,
            {"fingerprint": "j/2"},
            f"it is not the judge that was calibrated: j/2 here, {PRINT} there",
        ),
        (JUDGE.confusion, {"fingerprint": ""}, "its grades have no fingerprint, so it may be another judge"),
    ],
    ids=["few passes", "few fails", "a coin", "another judge", "no fingerprint"],
)
def test_what_is_not_corrected(confusion: Confusion, more: dict[str, Any], told: str) -> None:
    """It is told why, and no figure is."""
    found = only(judged(6, 4, **more), Calibrated("j", PRINT, confusion))
    assert found.corrected is None
    assert found.as_json()["value"] is None
    assert found.why_not.startswith(told)
    (line,) = draw_corrections([found])
    assert line.startswith(f"pass rate not corrected for errors of j: {told}")


def test_judges_are_corrected_one_by_one() -> None:
    """Trials under another fingerprint are told beside those that can be corrected."""
    trials = [*judged(6, 4), *judged(1, 0, fingerprint="j/2")]
    first, second = corrections(trials, (JUDGE,), "all")
    assert (first.fingerprint, first.corrected is None, first.seen) == (PRINT, False, Share(6, 10))
    assert (second.fingerprint, second.corrected, second.seen) == ("j/2", None, Share(1, 1))


def test_the_file_is_that_of_the_command(tmp_path: Path) -> None:
    """What ``calibrate --json`` writes is read, with all graders and fingerprints."""
    words = {"a": (PASSED, "pass"), "b": (PASSED, "fail"), "c": (FAILED, "fail"), "d": (FAILED, "pass")}
    store = write_run(
        tmp_path / "run", *(graded(n, grade("j", v, fingerprint=PRINT)) for n, (v, _) in words.items())
    )
    write_labels(store.root / "labels.jsonl", *(says(name, word) for name, (_, word) in words.items()))
    assert main(["calibrate", str(store.root), "--json", str(tmp_path / "cal.json")]) == 0
    assert read_calibration(tmp_path / "cal.json") == (Calibrated("j", PRINT, Confusion(1, 1, 1, 1)),)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "is not a calibration, or is damaged"),
        ("{", "is not a calibration, or is damaged"),
        ('{"runs": []}', "is not a calibration, or is damaged: 'graders'"),
        ('{"graders": [{"grader": "j"}]}', "is not a calibration, or is damaged"),
        ('{"graders": []}', "compares no grade with a label"),
        (
            json.dumps({"graders": [{"grader": "j", "fingerprint": "", "confusion": {"true_positive": -1}}]}),
            "is damaged: a count is less than 0",
        ),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str | None, told: str) -> None:
    """With the file, and what writes one."""
    file = tmp_path / "cal.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(UsageError, match=r"cal\.json .* Write it by `browsereval calibrate RUN") as refused:
        read_calibration(file)
    assert told in str(refused.value)
