"""Fara's ways of verifying an attempt - by its actions, by a rubric, by its pictures - and their vote."""

from __future__ import annotations

import asyncio
from typing import ClassVar, Literal

from pydantic import Field

from pytest_browsereval.features.judges import rubrics
from pytest_browsereval.features.judges.relevance import RATE, Chosen, LookingGrader, Ratings
from pytest_browsereval.features.judges.rubrics import Rubric, Scored, Scores, get_rubric, settle_scores
from pytest_browsereval.features.shared.combining import CombiningGrader
from pytest_browsereval.features.shared.judging import pictures
from pytest_browsereval.features.shared.judging.base import ModelGrader, Opinion, give_answer, give_task
from pytest_browsereval.features.shared.judging.judge import Given, Judge
from pytest_browsereval.features.shared.judging.replies import JudgeReply, Replies
from pytest_browsereval.features.shared.judging.steps import give_actions, load_steps
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.llm.judge import JudgeConfig
from pytest_browsereval.model.grades import Criterion, Verdict

TEXTS = read_prompts(__file__)
ALIGNMENT, PICTURES = TEXTS["alignment"], TEXTS["pictures"]
RUBRIC = f"{TEXTS['rubric']}\n{rubrics.RULES}"


class Alignment(JudgeReply):
    """What the judge says."""

    reasoning: str = Field(description="The four things in turn, with the actions that they rest on.")
    verdict: Literal["PASS", "FAIL"]


class FaraAlignmentGrader(ModelGrader):
    """Asks a model, by texts alone, whether the actions and the answer fit the task."""

    type: Literal["fara_alignment"] = "fara_alignment"
    prompts: ClassVar[tuple[str, ...]] = (ALIGNMENT,)
    replies: ClassVar[Replies] = (Alignment,)

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: object) -> Opinion:
        """Return one vote.

        Raises:
            Fault: no actions were recorded, or the judge cannot be asked.
        """
        steps = await asyncio.to_thread(load_steps, recorded)
        # Nothing to read, so no question is paid for.
        if not steps and not (recorded.final_answer or "").strip():
            return Opinion("failed", 0.0, "the agent did nothing and answered nothing")
        parts = [give_task(recorded), give_actions(steps), give_answer(recorded)]
        said = await judge.ask(Alignment, ALIGNMENT, parts)
        return Opinion.yes_or_no(said.verdict == "PASS", said.reasoning, details={"actions": len(steps)})


class FaraRubricGrader(rubrics.ScoringGrader):
    """Scores actions and answer by a rubric: the row's, or one that is made of the task alone."""

    type: Literal["fara_rubric"] = "fara_rubric"
    prompts: ClassVar[tuple[str, ...]] = (rubrics.MAKE, RUBRIC)
    replies: ClassVar[Replies] = (rubrics.NewRubric, Scores)

    async def prepare(self, recorded: Recorded, judge: Judge) -> tuple[Rubric, Given]:
        """Return the actions, and the row's rubric or one that is made of the task alone.

        Raises:
            Fault: nothing was recorded, or the judge makes none.
        """
        steps = await asyncio.to_thread(load_steps, recorded)  # before a rubric is paid for
        return await get_rubric(recorded, judge), give_actions(steps, results=True)

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: tuple[Rubric, Given]) -> Opinion:
        """Return one vote.

        Raises:
            Fault: the judge cannot be asked, or contradicts the rubric or itself.
        """
        rubric, actions = prepared
        parts = [give_task(recorded), rubric.part(), actions, give_answer(recorded)]

        def score(said: Scores) -> Scored:
            return settle_scores(rubric, said.criteria, self.threshold)

        said = await judge.ask(Scores, RUBRIC, parts, call="scores", check=score)
        scored = score(said)
        return Opinion(
            "passed" if scored.passes else "failed",
            scored.score,
            f"{scored.describe()}. {said.reasoning}",
            criteria=scored.criteria(),
            details={"rubric": rubric.as_json(), **scored.as_json()},
        )


class Contradiction(JudgeReply):
    """A claim that the pictures do not support."""

    claim: str = Field(description="What the answer claims, in few words.")
    shown: str = Field(description="What the pictures show instead, or that they show nothing of it.")


class Sight(JudgeReply):
    """What the judge says."""

    reasoning: str = Field(description="What the pictures show of the task, by their numbers.")
    contradictions: list[Contradiction]
    is_consistent: bool
    is_satisfied: bool


class FaraMultimodalGrader(LookingGrader):
    """Asks by pictures whether the answer is true to them and the task is satisfied; both have to hold."""

    type: Literal["fara_multimodal"] = "fara_multimodal"
    prompts: ClassVar[tuple[str, ...]] = (RATE, PICTURES)
    replies: ClassVar[Replies] = (Ratings, Sight)

    async def prepare(self, recorded: Recorded, judge: Judge) -> Chosen:
        """Choose the pictures.

        Raises:
            Fault: there are none, or some could not be rated.
        """
        return await self.choose_pictures(recorded, judge, [give_task(recorded), give_answer(recorded)])

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: Chosen) -> Opinion:
        """Return one vote.

        Raises:
            Fault: the judge cannot be asked.
        """
        shown = [pictures.Shown(path) for path in prepared.paths]
        said = await judge.ask(Sight, PICTURES, [give_task(recorded), give_answer(recorded), *shown])
        unsupported = "; ".join(f"{c.claim}: {c.shown}" for c in said.contradictions)
        found = (
            ("the answer is consistent with the pictures", said.is_consistent, unsupported),
            ("the task is satisfied", said.is_satisfied, ""),
        )
        return Opinion.yes_or_no(
            said.is_consistent and said.is_satisfied,
            f"{said.reasoning} Not supported: {unsupported}" if unsupported else said.reasoning,
            criteria=tuple(
                Criterion(
                    name=name,
                    verdict=Verdict.PASSED if holds else Verdict.FAILED,
                    expected=True,
                    actual=holds,
                    reason=reason,
                )
                for name, holds, reason in found
            ),
            evidence=pictures.evidence_of(prepared.paths),
            details={
                **prepared.details,
                "contradictions": [c.model_dump(mode="json") for c in said.contradictions],
            },
        )


class FaraCombinedGrader(CombiningGrader):
    """Verifies by actions, by a rubric and by pictures at once, and lets the three vote.

    A part that is errored has no vote: the grade stands if the others decide alone; otherwise it is errored.
    """

    type: Literal["fara_combined"] = "fara_combined"

    judge: JudgeConfig | None = None
    """The model that the parts ask; the run's ``judge`` by default."""
    rule: Literal["all", "any", "majority", "weighted"] = "majority"
    """Which parts have to pass: two of three by default, or all, one, or ``weighted``, as of ``combined``."""

    @property
    def parts(self) -> tuple[ModelGrader, ...]:
        """The three graders, with their defaults."""
        kinds = (FaraAlignmentGrader, FaraRubricGrader, FaraMultimodalGrader)
        return tuple(kind(judge=self.judge) for kind in kinds)
