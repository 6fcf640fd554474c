from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_browsereval.features.judges.fara import FaraCombinedGrader
from pytest_browsereval.llm.judge import JudgeConfig
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.testing import refuses
from tests.features.shared.judging.bench import Bench, aligned, made, scores, sight

NAMES = ("fara_alignment", "fara_rubric", "fara_multimodal")


def bench_of(folder: Path, *, text: bool, points: float, seen: bool) -> Bench:
    return Bench(
        folder,
        {
            "alignment": aligned("PASS" if text else "FAIL"),
            "make": made(25, 25, 25, 25),
            "score": scores(points, points, points, points),
            "see": sight(satisfied=seen),
        },
    )


def test_two_of_three_pass(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """The grade shows each part, and whether they disagree."""
    for text in [True, False]:
        for points in [25, 10]:
            for seen in [True, False]:
                with subtests.test(text=text, points=points, seen=seen):
                    bench = bench_of(tmp_path, text=text, points=points, seen=seen)
                    result = bench.judged(FaraCombinedGrader, bench.attempt(pictures=2))
                    votes = [text, points == 25, seen]
                    assert result.verdict is (Verdict.PASSED if sum(votes) >= 2 else Verdict.FAILED)
                    assert result.score == pytest.approx((text + points / 25 + seen) / 3)
                    found = [(c.name, c.verdict is Verdict.PASSED) for c in result.criteria]
                    assert found == list(zip(NAMES, votes, strict=True))
                    assert result.details["disagree"] is (0 < sum(votes) < 3)
                    parts: Any = result.details["parts"]
                    assert parts["fara_rubric"]["score"] == points / 25
                    assert parts["fara_rubric"]["details"]["rubric"]["source"] == "made"
                    assert parts["fara_alignment"]["reasoning"] == "the actions fit"
                    assert result.evidence == ("screenshots/001.png", "screenshots/002.png")
                    assert (result.usage.requests, result.usage.input_tokens) == (4, 400)


def test_a_part_that_errs_is_not_a_vote(tmp_path: Path) -> None:
    """Where the others agree their grade stands; where they differ it is errored, with all reasons."""
    bench = bench_of(tmp_path, text=True, points=25, seen=True)
    bench.answers["see"] = refuses(500)
    recorded = bench.attempt(pictures=1)
    result = bench.judged(FaraCombinedGrader, recorded)
    assert (result.verdict, result.score) == (Verdict.PASSED, 1.0)
    assert result.criteria[2].verdict is Verdict.ERRORED
    bench.answers["alignment"] = aligned("FAIL")
    result = bench.judged(FaraCombinedGrader, recorded)
    assert (result.verdict, result.score) == (Verdict.ERRORED, None)
    assert [c.verdict for c in result.criteria] == [Verdict.FAILED, Verdict.PASSED, Verdict.ERRORED]
    assert result.details["disagree"] is True
    assert "fara_alignment failed, fara_rubric passed, fara_multimodal errored" in result.reasoning
    assert bench.judged(FaraCombinedGrader, recorded, rule="all").verdict is Verdict.FAILED


def test_an_attempt_without_pictures_has_two_votes(tmp_path: Path) -> None:
    """The part that looks is errored; two failures decide without it."""
    bench = bench_of(tmp_path, text=False, points=10, seen=True)
    result = bench.judged(FaraCombinedGrader, bench.attempt())
    assert result.verdict is Verdict.FAILED
    assert result.score == pytest.approx(0.2)
    assert "no picture was recorded" in result.criteria[2].reason
    assert "see" not in bench.counts


def test_weights_and_judge(subtests: pytest.Subtests) -> None:
    """Parts are weighed by their names, and all of them ask the judge of the block."""
    judge = JudgeConfig(model="m", base_url="http://localhost:1/v1", api_key="none")
    weighted = FaraCombinedGrader(rule="weighted", weights={"fara_rubric": 2}, judge=judge)
    assert [part.judge for part in weighted.parts] == [judge] * 3
    cases: list[tuple[dict[str, Any], str]] = [
        ({"weights": {"fara_rubric": 2}}, "belong to rule: weighted, but the rule is majority"),
        ({"rule": "weighted", "weights": {"fara_rubrics": 1}}, "Did you mean 'fara_rubric'?"),
        ({"rule": "most"}, "'majority' or 'weighted'"),
    ]
    for options, told in cases:
        with subtests.test(options=options):
            with pytest.raises(ValidationError) as caught:
                FaraCombinedGrader(**options)
            assert told in str(caught.value)
