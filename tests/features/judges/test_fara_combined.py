from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_browsereval.features.judges.fara import (
    FaraAlignmentGrader,
    FaraCombinedGrader,
    FaraMultimodalGrader,
    FaraRubricGrader,
    Results,
)
from pytest_browsereval.features.shared.judging.base import Opinion
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.testing import refuses
from tests.features.shared.judging.bench import Bench, aligned, made, numbers_in, ratings, scores, sight

MADE = made(25, 25, 25, 25)


def bench_of(folder: Path, *, text: bool, points: float, seen: bool) -> Bench:
    return Bench(
        folder,
        {
            "alignment": aligned("PASS" if text else "FAIL"),
            "make": MADE,
            "score": scores(points, points, points, points),
            "see": sight(satisfied=seen),
        },
    )


def test_two_of_three_pass(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """The parts are told one by one, and who disagrees."""
    for text in [True, False]:
        for points in [25, 10]:
            for seen in [True, False]:
                with subtests.test(text=text, points=points, seen=seen):
                    bench = bench_of(tmp_path, text=text, points=points, seen=seen)
                    result = bench.judged(FaraCombinedGrader, bench.attempt(pictures=2))
                    votes = [text, points == 25, seen]
                    assert result.verdict is (Verdict.PASSED if sum(votes) >= 2 else Verdict.FAILED)
                    assert result.score == pytest.approx((text + points / 25 + seen) / 3)
                    names = ("alignment", "rubric", "multimodal")
                    assert [(c.name, c.verdict is Verdict.PASSED) for c in result.criteria] == list(
                        zip(names, votes, strict=True)
                    )
                    passed = [name for name, vote in zip(names, votes, strict=True) if vote]
                    assert result.details["passed"] == passed
                    assert result.details["failed"] == [name for name in names if name not in passed]
                    assert result.details["disagree"] is (0 < len(passed) < 3)
                    if len(passed) == 2:
                        assert result.reasoning.startswith(f"passed: {', '.join(passed)}; failed: ")
                    parts: Any = result.details["parts"]
                    assert parts["rubric"]["score"] == points / 25
                    assert parts["rubric"]["details"]["rubric"]["source"] == "made"
                    assert parts["alignment"]["reasoning"] == "the actions fit"
                    assert result.evidence == ("screenshots/001.png", "screenshots/002.png")
                    assert result.usage.requests == 4
                    assert result.usage.input_tokens == 400


def test_a_crashed_part_is_no_vote(tmp_path: Path) -> None:
    """Where the others agree their grade stands; where they differ it is errored, with all that was said."""
    bench = bench_of(tmp_path, text=True, points=25, seen=True)
    bench.answers["see"] = refuses(500)
    recorded = bench.attempt(pictures=1)
    result = bench.judged(FaraCombinedGrader, recorded)
    assert (result.verdict, result.score) == (Verdict.PASSED, 1.0)
    assert result.details["errored"] == ["multimodal"]
    assert result.criteria[2].verdict is Verdict.ERRORED
    bench.answers["alignment"] = aligned("FAIL")
    result = bench.judged(FaraCombinedGrader, recorded)
    assert (result.verdict, result.score) == (Verdict.ERRORED, None)
    assert "passed: rubric; failed: alignment; errored: multimodal" in result.reasoning
    assert [c.verdict for c in result.criteria] == [Verdict.FAILED, Verdict.PASSED, Verdict.ERRORED]
    assert result.details["disagree"] is True
    bench.answers["make"] = refuses(500)
    result = bench.judged(FaraCombinedGrader, recorded)
    assert result.verdict is Verdict.ERRORED
    bench.answers["alignment"] = refuses(500)
    result = bench.judged(FaraCombinedGrader, recorded)
    assert (result.verdict, result.details["is_undecided"]) == (Verdict.ERRORED, False)
    assert "errored: alignment, rubric, multimodal" in result.reasoning


def test_no_pictures_leave_two_votes(tmp_path: Path) -> None:
    """The part that looks is errored; two failures decide without it."""
    bench = bench_of(tmp_path, text=False, points=10, seen=True)
    result = bench.judged(FaraCombinedGrader, bench.attempt())
    assert result.verdict is Verdict.FAILED
    assert result.score == pytest.approx(0.2)
    assert "no picture was recorded" in result.criteria[2].reason
    assert "see" not in bench.counts


def test_an_undecided_part_is_no_vote(tmp_path: Path) -> None:
    """Its failure rests on pictures that nobody rated: the others have to decide."""
    bench = bench_of(tmp_path, text=True, points=10, seen=False)
    good = ratings(lambda n: 4)  # noqa: ARG005
    bench.answers["rate"] = lambda request: refuses(500) if 1 in numbers_in(request) else good(request)
    recorded = bench.attempt(pictures=20)
    result = bench.judged(FaraCombinedGrader, recorded)
    assert (result.verdict, result.details["errored"]) == (Verdict.ERRORED, ["multimodal"])
    assert "these pictures could not be rated: 1, 2, 3, 4, 5" in result.reasoning
    bench.answers["alignment"] = aligned("FAIL")
    result = bench.judged(FaraCombinedGrader, recorded)
    assert (result.verdict, result.score) == (Verdict.FAILED, 0.2)


def test_all_votes_begin_with_one_rubric(tmp_path: Path) -> None:
    """Each vote of the judge is a vote of the three parts."""
    bench = bench_of(tmp_path, text=True, points=25, seen=False)
    result = bench.judged(FaraCombinedGrader, bench.attempt(pictures=1), votes=3)
    assert result.verdict is Verdict.PASSED
    assert bench.counts == {"make": 1, "alignment": 3, "score": 3, "see": 3}
    votes: Any = result.details["votes"]
    assert len(votes) == 3


# -- rules

NAMES = ("alignment", "rubric", "multimodal")


def said(words: str) -> Results:
    """Return results of the parts: p passed, f failed, e errored."""
    made_of: dict[str, Any] = {
        "p": Opinion.yes_or_no(True, "."),  # noqa: FBT003
        "f": Opinion.yes_or_no(False, "."),  # noqa: FBT003
        "e": Opinion("undecided", 0.0, "."),
    }
    first, second, third = (made_of[word] for word in words)
    return {"alignment": first, "rubric": second, "multimodal": third}


def test_weighted_votes(subtests: pytest.Subtests) -> None:
    """The share of the weights that pass is compared; a vote that is missing may be either."""
    weights: dict[Any, float] = {"alignment": 0.1, "rubric": 0.3, "multimodal": 0.2}
    grader = FaraCombinedGrader(rule="weighted", weights=weights)
    # 0.5 of the weights is exactly the threshold.
    cases = {"fpf": "passed", "pff": "failed", "pfp": "passed", "epf": "passed", "efp": "errored"}
    cases |= {"efe": "errored", "eff": "failed", "fep": "errored", "fef": "errored"}
    for words, expected in cases.items():
        with subtests.test(words):
            assert grader.decide(said(words)) == expected
    others = [FaraCombinedGrader(rule=rule).decide(said("ppf")) for rule in ("majority", "all")]
    assert others == ["passed", "failed"]


def test_rules_that_cannot_be_meant_are_refused(subtests: pytest.Subtests) -> None:
    """Before anything is spent."""
    cases: list[tuple[dict[str, Any], str]] = [
        ({"weights": {"alignment": 1, "rubric": 1, "multimodal": 1}}, "belong to the rule 'weighted'"),
        ({"rule": "all", "threshold": 0.9}, "the rule is 'all'"),
        ({"rule": "weighted", "weights": {"rubric": 1}}, "weights names alignment, rubric and multimodal"),
        ({"rule": "weighted", "weights": dict.fromkeys(NAMES, 0)}, "not all of them 0"),
        ({"rule": "weighted", "weights": {**dict.fromkeys(NAMES, 1), "rubric": -1}}, "greater than or equal"),
        ({"rule": "weighted", "weights": {"pictures": 1}}, "'alignment', 'rubric' or 'multimodal'"),
        ({"rule": "most"}, "'majority', 'all' or 'weighted'"),
    ]
    for options, told in cases:
        with subtests.test(options=options, told=told):
            with pytest.raises(ValidationError) as caught:
                FaraCombinedGrader(**options)
            assert told in str(caught.value)


def test_all_that_is_asked_is_in_the_fingerprint(tmp_path: Path) -> None:
    """Every text and form that the judge is sent is among those that the fingerprint is made of."""
    bench = bench_of(tmp_path, text=True, points=25, seen=True)
    bench.answers["rate"] = ratings(lambda n: 4)  # noqa: ARG005
    bench.judged(FaraCombinedGrader, bench.attempt(pictures=11))
    texts, forms = bench.asked()
    assert texts == set(FaraCombinedGrader.prompts)
    assert forms == {reply.__name__ for reply in FaraCombinedGrader.replies}
    for part in (FaraAlignmentGrader, FaraRubricGrader, FaraMultimodalGrader):
        assert set(part.prompts) <= set(FaraCombinedGrader.prompts)
        assert len(part.prompts) == len(part.replies)
