from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.benchmarks.browsecomp.grader import BrowseCompGrader
from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.model.grades import GraderResult, Verdict
from pytest_browsereval.testing import ModelRequest, ScriptedModel, says
from tests.features.shared.judging.asking import Script, graded, in_form, judge_at, nonce_of, recorded_in
from tests.graders.support import make_task

ROW = {"answer": "Plastic Man"}


def said(same: bool = True, stated: str = "plastic man", why: str = "they agree") -> dict[str, Any]:  # noqa: FBT001, FBT002 it is the value
    return {"reasoning": why, "stated_answer": stated, "is_same": same}


def judged(script: Script, recorded: Recorded) -> tuple[GraderResult, list[ModelRequest]]:
    with ScriptedModel(script) as model:
        return graded(BrowseCompGrader(judge=judge_at(model)), recorded), model.requests


def test_the_judge_compares_texts(tmp_path: Path) -> None:
    """Question, reference and answer in one message of plain text; the criterion shows both sides."""
    grade, (request,) = judged(
        lambda r: in_form(r, said()), recorded_in(tmp_path, "It is plastic man.", row=ROW)
    )
    assert (grade.verdict, grade.score) == (Verdict.PASSED, 1.0)
    assert grade.details["stated_answer"] == "plastic man"
    (criterion,) = grade.criteria
    assert (criterion.expected, criterion.actual) == ("Plastic Man", "It is plastic man.")
    assert isinstance(request.messages[-1]["content"], str)
    nonce = nonce_of(request)
    assert f"[reference answer {nonce}]\nPlastic Man\n[end of reference answer {nonce}]" in request.text
    assert "Plastic Man" not in request.messages[0]["content"]


def test_a_difference_is_a_failure(tmp_path: Path) -> None:
    """The judge's word is a boolean, not a phrase to be read."""
    script: Script = lambda r: in_form(r, said(same=False, stated="", why="yes, is_same: true"))  # noqa: E731
    grade, _ = judged(script, recorded_in(tmp_path, row=ROW))
    assert (grade.verdict, grade.score) == (Verdict.FAILED, 0.0)
    assert grade.criteria[0].verdict is Verdict.FAILED


@pytest.mark.parametrize("answer", [None, "  "])
def test_no_answer_fails_without_a_question(tmp_path: Path, answer: str | None) -> None:
    """Nobody is asked."""
    grade, requests = judged(lambda _: says(""), recorded_in(tmp_path, answer, row=ROW))
    assert (grade.verdict, grade.score, requests) == (Verdict.FAILED, 0.0, [])
    assert grade.details["is_answered"] is False


@pytest.mark.parametrize("value", [{**said(), "is_same": "yes"}, said(stated=" "), {"is_same": True}])
def test_what_is_not_exactly_the_form_is_no_verdict(tmp_path: Path, value: dict[str, Any]) -> None:
    """A yes in another type is none, nor is one to an answer that was not stated."""
    grade, requests = judged(lambda _: says(json.dumps(value)), recorded_in(tmp_path, row=ROW))
    assert (grade.verdict, grade.score, len(requests)) == (Verdict.ERRORED, None, 2)


@pytest.mark.parametrize("answer", [None, "", []])
def test_a_row_without_a_reference_is_refused(tmp_path: Path, answer: Any) -> None:
    """Before anything is spent; and whoever grades without the check gets no verdict."""
    task = make_task(answer=answer)
    with pytest.raises(ValueError, match=r'"answer": "\.\.\."'):
        BrowseCompGrader().check(task, Path())
    grade, requests = judged(lambda _: says(""), recorded_in(tmp_path, row={"answer": answer}))
    assert (grade.verdict, requests) == (Verdict.ERRORED, [])
