from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.judges.fara import FaraMultimodalGrader
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.testing import ModelRequest, refuses
from tests.features.shared.judging.bench import Bench, numbers_in, ratings, sight


def images(request: ModelRequest) -> list[str]:
    """Return the details in which a request's pictures are sent."""
    content = request.messages[1]["content"]
    return [part["image_url"]["detail"] for part in content if part["type"] == "image_url"]


def test_both_have_to_hold(tmp_path: Path) -> None:
    """The answer is true to the pictures, and the task is satisfied; up to ten are shown without a rating."""
    for consistent, satisfied in ((False, False), (False, True), (True, False), (True, True)):
        bench = Bench(tmp_path, {"see": sight(consistent=consistent, satisfied=satisfied)})
        result = bench.judged(FaraMultimodalGrader, bench.attempt(pictures=10))
        passed = consistent and satisfied
        assert (result.verdict, result.score) == (Verdict.PASSED if passed else Verdict.FAILED, float(passed))
        assert [c.actual for c in result.criteria] == [consistent, satisfied]
        assert bench.counts == {"see": 1}
    (request,) = bench.requests["see"]
    assert numbers_in(request) == list(range(1, 11))
    assert set(images(request)) == {"high"}
    assert result.evidence == tuple(f"screenshots/{n:03d}.png" for n in range(1, 11))


def test_contradictions_are_told(tmp_path: Path) -> None:
    """What the answer claims and the pictures do not show."""
    seen = sight({"it costs 42": "the page says 24"}, consistent=False)
    bench = Bench(tmp_path, {"see": seen})
    result = bench.judged(FaraMultimodalGrader, bench.attempt(pictures=1))
    assert result.details["contradictions"] == [{"claim": "it costs 42", "shown": "the page says 24"}]
    assert "Not supported: it costs 42: the page says 24" in result.reasoning
    assert result.criteria[0].reason == "it costs 42: the page says 24"


def test_many_pictures_are_rated_first(tmp_path: Path) -> None:
    """Thirty of 59, evenly, the last five among them; small, in batches of five; the best ten are shown."""
    bench = Bench(tmp_path, {"rate": ratings(lambda n: 5 if n >= 50 else 3), "see": sight()})
    result = bench.judged(FaraMultimodalGrader, bench.attempt(pictures=59))
    rated = sorted(n for request in bench.requests["rate"] for n in numbers_in(request))
    assert len(rated) == 30
    assert rated[0] == 1
    assert rated[-5:] == [55, 56, 57, 58, 59]
    assert {after - before for before, after in pairwise(rated[:26])} <= {2, 3}
    assert bench.counts == {"rate": 6, "see": 1}
    assert {detail for request in bench.requests["rate"] for detail in images(request)} == {"low"}
    (request,) = bench.requests["see"]
    best = [n for n in rated if n >= 50]
    assert numbers_in(request) == sorted(best + [n for n in rated if n < 50][-(10 - len(best)) :])
    assert result.details["shown"] == numbers_in(request)
    assert (result.details["pictures"], result.details["sampled"]) == (59, 30)
    assert len(result.evidence) == 10


def test_limits_are_options(tmp_path: Path) -> None:
    """How many at all, how many closely, and from which rating on."""
    bench = Bench(tmp_path, {"rate": ratings(lambda n: n), "see": sight()})
    options = {"max_pictures": 5, "max_shown": 3, "relevance_threshold": 5}
    bench.judged(FaraMultimodalGrader, bench.attempt(pictures=5), **options)
    assert numbers_in(bench.requests["see"][0]) == [1, 2, 3, 4, 5]  # one is kept: the five best join it
    bench.judged(FaraMultimodalGrader, bench.attempt(pictures=5), **{**options, "relevance_threshold": 2})
    assert numbers_in(bench.requests["see"][0]) == [3, 4, 5]


def test_a_rating_that_fails_errs(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """Each picture of the question once, from 1 to 5; the best ones may be among those that are not rated."""
    cases: list[Any] = [
        lambda request: refuses(500) if 1 in numbers_in(request) else ratings(lambda n: 4)(request),  # noqa: ARG005
        lambda request: {"pictures": []},  # noqa: ARG005
        lambda request: {
            "pictures": [{"picture": 99, "reason": "", "rating": 5} for _ in numbers_in(request)]
        },
        ratings(lambda n: 6),  # noqa: ARG005
    ]
    for number, rated in enumerate(cases):
        with subtests.test(number=number):
            bench = Bench(tmp_path, {"rate": rated, "see": sight()})
            result = bench.judged(FaraMultimodalGrader, bench.attempt(pictures=20))
            assert result.verdict is Verdict.ERRORED
            assert "gave no rating of pictures" in result.reasoning
            assert "see" not in bench.counts


def test_no_picture_is_no_evidence(tmp_path: Path) -> None:
    """Errored without a question; a judge that cannot see is refused before."""
    bench = Bench(tmp_path)
    result = bench.judged(FaraMultimodalGrader, bench.attempt())
    assert (result.verdict, bench.counts) == (Verdict.ERRORED, {})
    assert "no picture was recorded" in result.reasoning
    assert FaraMultimodalGrader().sees_pictures
