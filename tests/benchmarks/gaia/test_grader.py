"""GAIA's normalised match."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.benchmarks.gaia.grader import GaiaGrader
from pytest_browsereval.model.grades import GraderResult, Verdict
from tests.graders.support import make_recorded, make_task


def grade(reference: Any, answer: str | None) -> GraderResult:
    task = make_task(answer=reference)
    GaiaGrader().check(task, Path())
    return asyncio.run(GaiaGrader().grade(make_recorded(task, final_answer=answer)))


def test_same_answers(subtests: pytest.Subtests) -> None:
    """The reference says what is compared: a number, a list, a text."""
    cases: list[tuple[Any, str, str]] = [
        ("17", "17", "number"),
        ("17", " 17.0 ", "number"),
        (17, "$17", "number"),
        ("1456", "1,456", "number"),
        ("0.269", "0.269%", "number"),
        ("17", "FINAL ANSWER: 17", "number"),
        ("Claude Shannon", "claude  SHANNON", "text"),
        ("St. Petersburg", "st petersburg", "text"),
        ("sea gull", "seagull", "text"),
        ("Right", "right.", "text"),
        ("nan", "NaN", "text"),
        ("132, 133, 134", "132,133, 134.0", "list"),
        ("b, e", "B;E", "list"),
        ("Santa Clara, Boston", "santa clara, boston", "list"),
        ("a;$5", "a; $5", "list"),
    ]
    for reference, answer, kind in cases:
        with subtests.test(reference=reference, answer=answer, kind=kind):
            result = grade(reference, answer)
            assert (result.verdict, result.score, result.details["kind"]) == (Verdict.PASSED, 1.0, kind)


def test_other_answers(subtests: pytest.Subtests) -> None:
    """More words are another answer, as the benchmark asks for the answer alone."""
    cases: list[tuple[str, str | None]] = [
        ("17", "17 apples"),
        ("17", "seventeen"),
        ("17", "170"),
        ("17", ""),
        ("17", None),
        ("1.5", "1,5"),  # a comma is a sign of thousands
        ("Claude Shannon", "It was Claude Shannon"),
        ("b, e", "e, b"),
        ("b, e", "b, e, f"),
        ("b, e", "b"),
        ("a.b, c", "ab, c"),  # in a list punctuation counts
        ("3, 4", "3, four"),
    ]
    for reference, answer in cases:
        with subtests.test(reference=reference, answer=answer):
            result = grade(reference, answer)
            assert (result.verdict, result.score) == (Verdict.FAILED, 0.0)
            assert result.reasoning
            assert result.details["is_answered"] is bool(answer)


def test_rows_without_a_reference_are_refused() -> None:
    """Answers of the test set are not published."""
    for reference in (None, "", "?", True, ["a"]):
        with pytest.raises(ValueError, match="use the validation rows"):
            grade(reference, "17")
