from __future__ import annotations

import asyncio

import pytest

from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.doctor.golden import Tried, try_golden
from pytest_browsereval.features.shared.judging.base import ModelGrader
from pytest_browsereval.graders.answer import AnswerGrader
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.model.grades import GraderResult, Verdict

JUDGES_BY_PROGRAM = {"command": "a program of the user judges, which only he can try"}

MEMBERS: dict[str, type[GraderConfig]] = {
    name: member
    for name, member, _ in builtin_registry().members("grader")
    if issubclass(member, GraderConfig) and member.golden()
}


def tried(member: type[GraderConfig]) -> list[Tried]:
    async def course() -> list[Tried]:
        return [result async for result in try_golden(member, builtin_registry())]

    return asyncio.run(course())


def test_graders_know_their_golden_attempts(subtests: pytest.Subtests) -> None:
    """Each tells its own right and wrong attempts apart; there is one of either kind."""
    for name, member in MEMBERS.items():
        with subtests.test(name=name):
            results = tried(member)
            assert [f"{r.golden.name}: {r.outcome}" for r in results if not r.is_right] == []
            assert {r.golden.verdict for r in results} >= {Verdict.PASSED, Verdict.FAILED}


def test_who_has_none() -> None:
    """Graders that ask a model, which costs, and those that a user's program makes."""
    without = {
        name
        for name, member, _ in builtin_registry().members("grader")
        if name not in MEMBERS and not issubclass(member, ModelGrader)
    }
    assert without == {*JUDGES_BY_PROGRAM, "fara_combined"}  # whose parts ask models


def test_a_grader_that_has_gone_wrong_is_found() -> None:
    """One that passes everything, and one that raises."""

    class Blind(AnswerGrader):
        async def grade(self, recorded: Recorded) -> GraderResult:
            result = await super().grade(recorded)
            return result.model_copy(update={"verdict": Verdict.PASSED})

    class Broken(AnswerGrader):
        async def grade(self, recorded: Recorded) -> GraderResult:
            raise ValueError(f"broken {recorded.task.query_id}")

    assert [result.is_right for result in tried(Blind)] == [True, False, True, False]
    assert {result.outcome for result in tried(Broken)} == {"ValueError: broken price"}
