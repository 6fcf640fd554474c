"""Answers of protected tasks: found however a judge spells them, and in nothing that is written."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.benchmarks.browsecomp.grader import BrowseCompGrader
from pytest_browsereval.graders.answer import AnswerGrader
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.graders.protection import mask_of
from pytest_browsereval.llm.client import close_clients
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.redaction.marks import WITHHELD
from pytest_browsereval.run.grading import grade_all
from pytest_browsereval.testing import ScriptedModel
from tests.features.shared.judging.asking import in_form, judge_at, recorded_in
from tests.graders.support import make_task

X = WITHHELD


def test_an_answer_is_found_in_any_spelling(subtests: pytest.Subtests) -> None:
    """Words of the instruction stay, for they tell nothing; parts of other words and numbers too."""
    cases: list[tuple[Any, str, str]] = [
        ("Plastic Man", "It is PLASTIC  man, not plastics.", f"It is {X}, not plastics."),
        ("Plastic Man", "**Plastic-Man**", f"**{X}**"),
        ("Université de Montréal", "Universite de Montreal", X),
        ("Université de Montréal", "Universite\u0301 de Montre\u0301al", X),
        ("12 March 1994", "March 12, 1994", f"{X} {X}, {X}"),
        ("12 March 1994", "412 or 19940", "412 or 19940"),
        ("1,234,567", "1234567, 1.234.567 or 1 234 567", f"{X}, {X} or {X}"),
        (1234567, "1,234,567 and 12345678", f"{X} and 12345678"),
        ("5", "5 of 15", f"{X} of 15"),
        (["red", {"size": "XL"}], "A red one in xl", f"A {X} one in {X}"),
        ("北京", "答案是北京市", f"答案是{X}市"),
        ("§ 5", "see § 5", f"see § {X}"),
        ("???", "a ??? b", f"a {X} b"),
        ("the city", "a city", "a city"),
        (None, "anything", "anything"),
        ("", "anything", "anything"),
        (True, "true", "true"),
    ]
    for answer, text, left in cases:
        with subtests.test(answer=answer, text=text, left=left):
            assert mask_of(make_task(query="Which city?", answer=answer, protected=True))(text) == left
            assert mask_of(make_task(query="Which city?", answer=answer))(text) == text


GOLD = "Plastic Man, 1988"


def all_graded(graders: list[GraderConfig], recorded: Recorded) -> dict[str, GraderResult]:
    async def course() -> dict[str, GraderResult]:
        try:
            return (await grade_all(graders, recorded, unobserved={})).grades
        finally:
            await close_clients()

    return asyncio.run(course())


@pytest.mark.parametrize("gold", [GOLD, "failed", "reasoning", "answer"])
def test_no_grade_and_no_record_tells_it(tmp_path: Path, gold: str) -> None:
    """Every grader's reasoning, criteria and details, and the replies on disk; names of fields are kept."""
    row = {"answer": gold, "protected": True}
    reply = {"reasoning": f"The reference says {gold}.", "stated_answer": gold.upper(), "is_same": True}
    with ScriptedModel(lambda request: in_form(request, reply)) as model:
        judge = BrowseCompGrader(judge=judge_at(model))
        recorded = recorded_in(tmp_path, f"I say {gold}", row=row)
        first = all_graded([AnswerGrader(), judge], recorded)
        again = all_graded([judge], recorded)
    (record,) = (tmp_path / "judge").iterdir()
    assert first["answer"].verdict is Verdict.FAILED
    assert first["browsecomp"].verdict is again["browsecomp"].verdict is Verdict.PASSED
    assert again["browsecomp"].details["calls"] == 0
    assert f'"reasoning": "The reference says {WITHHELD}."' in record.read_text()
    for grade in (*first.values(), *again.values()):
        texts = [grade.reasoning, str(grade.criteria[0].expected), str(grade.criteria[0].actual)]
        texts += [grade.criteria[0].reason, str(grade.details.get("stated_answer"))]
        assert WITHHELD in grade.reasoning
        assert not [text for text in texts if gold.lower() in text.lower()]
        assert grade.criteria[0].expected == WITHHELD


def test_a_number_is_withheld_where_values_are_compared(tmp_path: Path) -> None:
    """As a number and as a text; counts of other things stay numbers."""
    row = {"answer": 42, "protected": True}
    (grade,) = all_graded([AnswerGrader(match="number")], recorded_in(tmp_path, "43", row=row)).values()
    assert (grade.criteria[0].expected, grade.criteria[0].actual) == (WITHHELD, "43")
    assert "42" not in grade.model_dump_json(exclude={"duration_ms", "fingerprint"})


def test_words_of_our_reports_stay(tmp_path: Path) -> None:
    """An answer that has the word *answer* takes it out of no label."""
    row = {"answer": "The answer is forty-two", "protected": True}
    (grade,) = all_graded([AnswerGrader()], recorded_in(tmp_path, "The answer is forty", row=row)).values()
    assert grade.reasoning == f'the answer is "The answer is {X}", not "{X}"'
    assert grade.criteria[0].name == "answer (exact)"
