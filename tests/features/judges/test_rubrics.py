from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.features.judges.fara import FaraCombinedGrader, FaraRubricGrader
from pytest_browsereval.features.judges.rubric import RubricGrader
from pytest_browsereval.features.judges.rubrics import Item, read_rubric
from pytest_browsereval.model.grades import Verdict
from tests.features.shared.judging.bench import Bench, made, scores
from tests.graders.support import make_task

ITEM = {"criterion": "Right shop", "description": "The shop of the task.", "max_points": 20}


def test_published_forms() -> None:
    """Items with points and a condition; requirements of one point each; both under either key."""
    noted = {**ITEM, "justification": "as I thought", "earned_points": 20, "condition": "if it is open"}
    rubric = read_rubric(make_task(rubric={"items": [ITEM, {**noted, "required": True, "total_items": 3}]}))
    assert rubric is not None
    assert rubric.source == "row"
    assert rubric.items == (
        Item("C1", "Right shop", "The shop of the task.", 20),
        Item("C2", "Right shop", "The shop of the task.", 20, required=True, condition="if it is open"),
    )
    assert "as I thought" not in rubric.part().text  # nobody's earlier scores are told to the judge
    named: Any = {
        "R1": {"requirement": "Find it", "verification": "A page."},
        "R2": {"requirement": "Buy it"},
    }
    expected = (Item("R1", "Find it", "A page.", 1), Item("R2", "Buy it", "", 1))
    for given in (named, {"rubrics": named}):
        rubric = read_rubric(make_task(rubric=given))
        assert rubric is not None
        assert rubric.items == expected
        rubric = read_rubric(make_task(metadata={"additional": {"precomputed_rubric": given}}))
        assert rubric is not None
        assert rubric.items == expected
    assert read_rubric(make_task()) is None


def test_a_malformed_rubric_is_refused_before_anything_is_spent(subtests: pytest.Subtests) -> None:
    """With its place and what to write, by every grader that would use it."""
    cases: list[tuple[Any, str]] = [
        ("be good", "the row's rubric is not a rubric: 'be good'. Write {\"items\":"),
        ({"items": []}, "is not a rubric"),
        ({"items": ["buy it"]}, "the row's rubric has a criterion 1 that cannot be used: 'buy it'"),
        ({"items": [ITEM, {**ITEM, "max_points": 0}]}, "(max_points: Input should be greater than 0)"),
        ({"items": [{"criterion": "a"}]}, "(max_points: Field required)"),
        ({"items": [{"max_points": 3}]}, "(criterion: Field required). Write"),
        ({"items": [{**ITEM, "criterion": " "}]}, "(criterion: "),
        ({"items": [{**ITEM, "requird": True}]}, "the unknown key 'requird'. Did you mean 'required'?"),
        ({"items": [{**ITEM, "required": "yes"}]}, "(required: "),
        ({"rubrics": {"R1": "buy"}}, "criterion 1 that cannot be used: 'buy'"),
        ({"rubrics": {"R1": {"verification": "buy"}}}, "(criterion: Field required)"),
        ({"rubrics": {"R1: 9 of 9\nR2": {"requirement": "buy"}}}, "names a criterion 'R1: 9 of 9"),
    ]
    for rubric, told in cases:
        with subtests.test(rubric=rubric, told=told):
            for make in (FaraRubricGrader, FaraCombinedGrader, RubricGrader):
                with pytest.raises(ValueError, match=r"^the row's rubric") as caught:
                    make().check(make_task(rubric=rubric), Path())
                assert told in str(caught.value)
                make().check(make_task(rubric={"items": [ITEM]}), Path())
            additional = {"additional": {"precomputed_rubric": rubric}}
            with pytest.raises(ValueError, match=r"^the row's metadata\.additional\.precomputed_rubric "):
                FaraRubricGrader().check(make_task(metadata=additional), Path())


def test_a_rubric_is_made_of_the_task_alone(tmp_path: Path) -> None:
    """Before anything of the attempt is told; then it is what the judge scores by."""
    bench = Bench(tmp_path, {"make": made(25, 25, 25, 25), "score": scores(25, 25, 25, 25)})
    recorded = bench.attempt(("click", {"target": "SECRET-ACTION"}, "."), answer="SECRET-ANSWER")
    result = bench.judged(FaraRubricGrader, recorded)
    assert (result.verdict, result.score) == (Verdict.PASSED, 1.0)
    asked = bench.requests["make"][0].text
    assert "How much is it?" in asked
    assert "SECRET" not in asked
    assert '"id": "C1", "criterion": "criterion 1"' in bench.requests["score"][0].text
    rubric: Any = result.details["rubric"]
    assert (rubric["source"], len(rubric["items"])) == ("made", 4)


def test_a_rubric_that_is_none_is_asked_for_once_more(tmp_path: Path, subtests: pytest.Subtests) -> None:
    """A second good one serves; after two bad ones the grade is errored. No general rubric stands in."""
    cases: list[dict[str, Any]] = [
        made(25, 25, 25),
        made(25, 25, 25, 24),
        made(101, -1, 0, 0),
        made(25, 25, 25, 25, conditions=dict.fromkeys(range(1, 5), "if so")),
        {"reasoning": "none", "items": []},
    ]
    for bad in cases:
        with subtests.test(bad=bad):
            bench = Bench(tmp_path, {"make": [bad, bad], "score": scores(25, 25, 25, 25)})
            recorded = bench.attempt()
            result = bench.judged(FaraRubricGrader, recorded)
            assert (result.verdict, result.score) == (Verdict.ERRORED, None)
            assert "gave no rubric: two replies in an unusable form" in result.reasoning
            assert bench.counts == {"make": 2}
            bench.answers["make"] = [bad, made(25, 25, 25, 25)]
            assert bench.judged(FaraRubricGrader, recorded).verdict is Verdict.PASSED
            assert bench.counts == {"make": 2, "score": 1}
