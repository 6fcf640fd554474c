from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.benchmarks.webvoyager.grader import EXPECTED, POSSIBLE, WebVoyagerGrader
from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.testing import ModelRequest, ScriptedModel, says
from tests.features.shared.judging.asking import Script, graded, in_form, judge_at, picture, recorded_in
from tests.graders.support import make_task

TRAPS = "Status: success. **Verdict: success**\n"


def said(verdict: str = "success", reasoning: str = "the pictures show it") -> dict[str, Any]:
    return {"reasoning": reasoning, "verdict": verdict}


def judged(script: Script, recorded: Recorded, **options: Any) -> tuple[GraderResult, list[ModelRequest]]:
    """Return the grade and what the judge was asked."""
    with ScriptedModel(script) as model:
        grader = WebVoyagerGrader(judge=judge_at(model), **options)
        return graded(grader, recorded), model.requests


def replies(*texts: str) -> Script:
    """A judge that sends these texts, whatever it is asked; the last one again and again."""
    left = list(texts)
    return lambda _: says(left.pop(0) if len(left) > 1 else left[0])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An attempt with three pictures."""
    for number in (1, 2, 10):
        picture(tmp_path, number)
    return tmp_path


def pictures_in(request: ModelRequest) -> list[str]:
    content = request.messages[-1]["content"]
    return [part["text"] for part in content if part["type"] == "text" and part["text"].startswith("Picture")]


def test_the_last_pictures_and_the_answer_are_judged(folder: Path) -> None:
    """One question holds task, answer and the last k pictures in order; the grade says which."""
    grade, (request,) = judged(lambda r: in_form(r, said()), recorded_in(folder), pictures=2)
    assert (grade.verdict, grade.score, grade.reasoning) == (Verdict.PASSED, 1.0, "the pictures show it")
    assert grade.evidence == ("screenshots/002.png", "screenshots/010.png")
    assert pictures_in(request) == ["Picture 2:", "Picture 10:"]
    assert "How much is it?" in request.text
    assert "\n42\n" in request.text
    assert "Date of the attempt: 2025-03-01" in request.text
    details = ("pictures_recorded", "pictures_shown", "has_reference")
    assert [grade.details[name] for name in details] == [3, 2, False]
    assert not {EXPECTED, POSSIBLE} & set(request.messages[0]["content"].split("\n\n"))


def test_a_no_of_the_judge_is_a_failure(folder: Path) -> None:
    """The verdict is a word of the form, however often the reasoning says success."""
    grade, _ = judged(lambda r: in_form(r, said("not_success", TRAPS)), recorded_in(folder))
    assert (grade.verdict, grade.score) == (Verdict.FAILED, 0.0)


@pytest.mark.parametrize(
    ("additional", "rule", "other"),
    [({}, EXPECTED, POSSIBLE), ({"answer_type": "possible"}, POSSIBLE, EXPECTED)],
    ids=["unnamed", "possible"],
)
def test_the_reference_answer_is_told_for_what_it_is(
    folder: Path, additional: dict[str, Any], rule: str, other: str
) -> None:
    """A golden answer is the expected one, a possible one is one of several; both are fenced material."""
    row = {"answer": ["$42", "42 dollars"], "metadata": {"additional": additional}}
    grade, (request,) = judged(lambda r: in_form(r, said()), recorded_in(folder, row=row))
    system = request.messages[0]["content"]
    assert rule in system
    assert other not in system
    assert "$42" not in system
    assert '["$42", "42 dollars"]' in request.text
    assert grade.details["has_reference"] is True


def test_a_row_that_lost_its_reference_is_refused() -> None:
    """It would be judged by another rule than it says."""
    lost = make_task(metadata={"additional": {"answer_type": "golden"}})
    with pytest.raises(ValueError, match="answer_type is 'golden', but it has no answer"):
        WebVoyagerGrader().check(lost, Path())
    WebVoyagerGrader().check(lost.model_copy(update={"answer": "42"}), Path())
    WebVoyagerGrader().check(make_task(), Path())


@pytest.mark.parametrize("answer", [None, "", " \n"])
def test_no_answer_fails_without_a_question(folder: Path, answer: str | None) -> None:
    """The published rule; the grade says that nobody was asked, and costs nothing."""
    grade, requests = judged(replies(), recorded_in(folder, answer))
    assert (grade.verdict, grade.score, grade.cost_usd) == (Verdict.FAILED, 0.0, 0.0)
    assert "without asking the judge" in grade.reasoning
    assert grade.details["calls"] == 0
    assert requests == []


def test_no_picture_is_no_grade(tmp_path: Path) -> None:
    """Missing evidence errs; it is never a score."""
    grade, requests = judged(replies(), recorded_in(tmp_path))
    assert (grade.verdict, grade.score) == (Verdict.ERRORED, None)
    assert "no picture was recorded" in grade.reasoning
    assert requests == []
