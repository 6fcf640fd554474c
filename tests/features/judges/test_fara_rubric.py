from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.judges.fara import FaraRubricGrader
from pytest_browsereval.model.grades import GraderResult, Verdict
from tests.features.shared.judging.bench import Bench, made, scores

MADE = made(40, 40, 15, 5, required=[4], conditions={3: "only if it is sold out"})


def scored(folder: Path, reply: Any, rubric: Any = MADE, **options: Any) -> GraderResult:
    bench = Bench(folder, {"make": rubric, "score": reply})
    return bench.judged(FaraRubricGrader, bench.attempt(), **options)


def without(number: int, *earned: float) -> dict[str, Any]:
    """Return scores in which one criterion does not apply."""
    reply = scores(*earned)
    reply["criteria"][number - 1] |= {"applies": False, "earned_points": 0, "met": False}
    return reply


def test_the_sum_is_ours(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Points are summed here; what does not apply leaves both sums; what is required has to be met."""
    cases: list[tuple[Any, float, Verdict]] = [
        (scores(40, 40, 15, 5), 1.0, Verdict.PASSED),
        (scores(40, 20, 15, 5), 0.8, Verdict.PASSED),
        (scores(40, 19.9, 15, 5), 0.799, Verdict.FAILED),
        (scores(40, 40, 15, 0), 0.95, Verdict.FAILED),  # the last one is required
        (without(3, 40, 40, 0, 5), 1.0, Verdict.PASSED),
        (without(3, 40, 22.9, 0, 5), 67.9 / 85, Verdict.FAILED),
        (without(3, 40, 23, 0, 5), 0.8, Verdict.PASSED),
    ]
    for reply, score, verdict in cases:
        with subtests.test(reply=reply, score=score, verdict=verdict):
            result = scored(tmp_path, reply)
            assert result.score == pytest.approx(score)
            assert result.verdict is verdict


def test_a_total_that_the_judge_states_counts_for_nothing(tmp_path: Path) -> None:
    """In its words it is not read; as a key it is no part of the form, and asked for once more."""
    boast = "Total: 100 of 100 points. Verdict: PASS."
    result = scored(tmp_path, scores(40, 0, 0, 5, reasoning=boast))
    assert (result.verdict, result.score) == (Verdict.FAILED, 0.45)
    stated = {**scores(40, 0, 0, 5), "total": 100}
    result = scored(tmp_path / "other", [stated, stated])
    assert result.verdict is Verdict.ERRORED


def test_what_the_grade_tells(tmp_path: Path) -> None:
    """A line for each criterion that applies, and the sums."""
    result = scored(tmp_path, without(3, 40, 20, 0, 0))
    assert [(c.name, c.verdict, c.weight) for c in result.criteria] == [
        ("C1: criterion 1", Verdict.PASSED, 40),
        ("C2: criterion 2", Verdict.PASSED, 40),
        ("C4: criterion 4", Verdict.FAILED, 5),
    ]
    assert result.criteria[1].actual == {"earned_points": 20, "max_points": 40}
    assert result.criteria[1].expected == "what earns points 2"
    assert result.criteria[1].reason == "reason 2"
    assert result.reasoning == (
        "60 of 85 points (70.6%; 80.0% are needed), without what is required: C4. so it was"
    )
    assert result.details["not_applicable"] == ["C3"]
    assert result.details["required_not_met"] == ["C4"]
    assert result.details["perfect"] is False
    assert result.usage.requests == 2


def marked(number: int, **changes: Any) -> dict[str, Any]:
    reply = scores(40, 40, 15, 5)
    reply["criteria"][number - 1] |= changes
    return reply


def test_a_judge_that_contradicts_itself_is_errored(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Nothing is clamped, left out or taken for zero."""
    cases: list[tuple[Any, str]] = [
        (marked(1, earned_points=41), "C1 has 41 of 40 points"),
        (marked(1, id="C5"), "it scored C5, C2, C3, C4, not C1, C2, C3, C4"),
        (scores(40, 40, 15), "it scored C1, C2, C3, not C1, C2, C3, C4"),
        (marked(1, applies=False), "C1 has no condition and is said not to apply"),
        (marked(1, met=False), "C1 is not met and has 40 of 40 points"),
        (marked(1, earned_points=0), "C1 is met and has 0 of 40 points"),
    ]
    for reply, told in cases:
        with subtests.test(reply=reply, told=told):
            result = scored(tmp_path, reply)
            assert (result.verdict, result.score) == (Verdict.ERRORED, None)
            assert told in result.reasoning


def test_nothing_applies(tmp_path: Path) -> None:
    """A sum of nothing is no score."""
    item = {"criterion": "a", "max_points": 10, "condition": "if it rains"}
    bench = Bench(tmp_path, {"score": without(1, 10)})
    result = bench.judged(FaraRubricGrader, bench.attempt(rubric={"items": [item]}))
    assert result.verdict is Verdict.ERRORED
    assert "no criterion applies" in result.reasoning


def test_votes_score_by_one_rubric(tmp_path: Path) -> None:
    """The rubric is made once; each vote scores by it anew."""
    replies = [scores(40, 40, 15, 5), scores(40, 0, 0, 5), scores(40, 30, 15, 5)]
    bench = Bench(tmp_path, {"make": MADE, "score": replies})
    result = bench.judged(FaraRubricGrader, bench.attempt(), votes=3)
    assert result.verdict is Verdict.PASSED
    assert result.score == pytest.approx((1.0 + 0.45 + 0.9) / 3)
    assert bench.counts == {"make": 1, "score": 3}
