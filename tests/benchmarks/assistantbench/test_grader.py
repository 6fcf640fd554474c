"""AssistantBench's continuous score."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.benchmarks.assistantbench.grader import AssistantBenchGrader
from pytest_browsereval.model.grades import GraderResult, Verdict
from tests.graders.support import make_recorded, make_task


def grade(reference: Any, answer: str | None, **options: Any) -> GraderResult:
    task = make_task(answer=reference)
    grader = AssistantBenchGrader(**options)
    grader.check(task, Path())
    return asyncio.run(grader.grade(make_recorded(task, final_answer=answer)))


def test_how_close_an_answer_is(subtests: pytest.Subtests) -> None:
    """The kind of the reference decides; a full score passes."""
    cases: list[tuple[Any, str, float, str]] = [
        ("100", "100", 1, "number"),
        ("100", "90", 1 - math.log(100 / 90), "number"),
        ("100", "10", 0, "number"),
        ("$100", "100 sqft", 1, "number"),
        ("0", "0", 1, "number"),
        ("100", "about 100", 0, "number"),
        ("100", "[100]", 1, "number"),
        ("100", "[100, 100]", 0, "number"),
        ("-4", "-4", 1, "number"),
        ("-4", "4", 0, "number"),
        ("the Old Mill", "Old mill!", 1, "texts"),
        ("Old Mill", "the mill", 2 / 3, "texts"),
        ("room 5", "room 6", 0, "texts"),
        ("Ada\nBob", '["Bob", "Ada"]', 1, "texts"),
        ("Ada\nBob", '["Bob", "Ada", "Cid", "Dan"]', 0.5, "texts"),
        (["Ada", "Bob"], "Ada", 0.5, "texts"),
        ('{"name": "Ada", "age": 36}', '{"name": "Ada", "age": 36}', 1, "blocks"),
        ('{"name": "Ada", "age": 36}', '{"name": "Ada"}', 2 / 3, "blocks"),
        ('{"name": "Ada", "age": 36}', '{"name": "Ada", "age": "thirty"}', 0.5, "blocks"),
        ("{'name': 'Ada'}\n{'name': 'Bob'}", '{"name": "Bob"}\n{"name": "Ada"}', 1, "blocks"),
        ('{"name": "Ada"}', "Ada", 0, "blocks"),
        ('{"name": "Ada"}', '["Ada", 3]', 0, "blocks"),
    ]
    for reference, answer, score, kind in cases:
        with subtests.test(reference=reference, answer=answer, score=score):
            result = grade(reference, answer)
            assert result.score == pytest.approx(score)
            assert result.verdict is (Verdict.PASSED if score == 1 else Verdict.FAILED)
            assert (result.details["kind"], result.details["is_answered"]) == (kind, True)


def test_no_answer(subtests: pytest.Subtests) -> None:
    """It scores 0, and is told apart from a wrong one: the benchmark reports a rate of answers."""
    cases: list[str | None] = [None, "", "[]", '["", ""]', "{}", "nan"]
    for answer in cases:
        with subtests.test(answer=answer):
            result = grade("100", answer)
            assert (result.verdict, result.score) == (Verdict.FAILED, 0.0)
            assert result.details["is_answered"] is False


def test_odd_answers_are_scored_all_the_same(subtests: pytest.Subtests) -> None:
    """Whatever an agent writes, nothing breaks."""
    cases = ["null", "true", "[null]", "[[1], {}]", "[" * 5_000, "[" * 400 + "]" * 400, "9" * 5_000]
    for answer in (*cases, "-inf", "[true, 3]"):
        for reference in ["100", "red", "red\nblue", '{"a": [1], "b": null}', "[1, 2]"]:
            with subtests.test(answer=answer, reference=reference):
                result = grade(reference, answer)
                assert 0 <= (result.score or 0) < 1
                assert result.verdict is Verdict.FAILED


def test_the_mark_to_pass_is_a_setting() -> None:
    """It is in the fingerprint."""
    strict, loose = grade("100", "90"), grade("100", "90", pass_at=0.8)
    assert (strict.verdict, loose.verdict) == (Verdict.FAILED, Verdict.PASSED)
    assert strict.score == loose.score
    assert strict.fingerprint != loose.fingerprint


def test_rows_without_a_reference_are_refused(subtests: pytest.Subtests) -> None:
    """Answers of the test set are not published."""
    cases: list[Any] = [None, "", [], {"a": 1}, True, [1, 2]]
    for reference in cases:
        with subtests.test(reference=reference), pytest.raises(ValueError, match="use its validation rows"):
            grade(reference, "100")
