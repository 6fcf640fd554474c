"""Fara's ways of verifying an attempt - by its actions, by a rubric, by its pictures - and their vote."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from pytest_browsereval.errors import Fault
from pytest_browsereval.features.judges import relevance, rubrics
from pytest_browsereval.features.judges.rubrics import Rubric, get_rubric, read_rubric
from pytest_browsereval.features.judges.scoring import RULES as SCORING
from pytest_browsereval.features.judges.scoring import Scored, Scores, settle_scores
from pytest_browsereval.features.shared.judging import pictures
from pytest_browsereval.features.shared.judging.base import (
    ModelGrader,
    Opinion,
    doubt_failure,
    give_answer,
    give_task,
)
from pytest_browsereval.features.shared.judging.judge import Given, Judge
from pytest_browsereval.features.shared.judging.replies import JudgeReply, Replies
from pytest_browsereval.features.shared.judging.steps import give_actions, load_steps
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.features.shared.scores import decide_by_mean, weighted_mean
from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.graders.verdicts import decide
from pytest_browsereval.model.grades import Criterion, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.runs.folder import number_of

# -- by texts alone: do the actions and the answer fit the task?

TEXTS = read_prompts(__file__)
ALIGNMENT = TEXTS["alignment"]


class Alignment(JudgeReply):
    """What the judge says."""

    reasoning: str = Field(description="The four things in turn, with the actions that they rest on.")
    verdict: Literal["PASS", "FAIL"]


class FaraAlignmentGrader(ModelGrader):
    """Asks by texts alone whether the actions and the answer fit the task."""

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


# -- by a rubric that was fixed before the attempt was seen; sums and percentage are ours

RUBRIC = f"{TEXTS['rubric']}\n{SCORING}"


class FaraRubricGrader(ModelGrader):
    """Scores actions and answer by a rubric: the row's, or one that is made of the task alone."""

    type: Literal["fara_rubric"] = "fara_rubric"
    prompts: ClassVar[tuple[str, ...]] = (rubrics.MAKE, RUBRIC)
    replies: ClassVar[Replies] = (rubrics.NewRubric, Scores)

    threshold: float = Field(default=0.8, ge=0, le=1)
    """The share of the points from which an attempt passes, if every required criterion is met."""

    def check(self, task: Task, base_dir: Path) -> None:
        """Check the rubric that the row carries.

        Raises:
            ValueError: it does not have the form of one.
        """
        read_rubric(task)

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
            return settle_scores(rubric, said.criteria)

        said = await judge.ask(Scores, RUBRIC, parts, call="scores", check=score)
        scored = score(said)
        return Opinion(
            "passed" if scored.passes(self.threshold) else "failed",
            scored.score(),
            f"{scored.sentence(self.threshold)}. {said.reasoning}",
            criteria=scored.criteria(),
            details={"rubric": rubric.as_json(), **scored.as_json(self.threshold)},
        )


# -- by pictures: is the answer true to what the pages showed, and is the task satisfied?

KEEP_LAST = 5
"""Pictures at the end of an attempt that are never left out before they are rated."""

PICTURES = TEXTS["pictures"]


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


@dataclass(frozen=True)
class Chosen:
    """The pictures that the judge looks at, and how they were chosen."""

    paths: list[Path]
    details: dict[str, JsonValue]
    unrated: tuple[int, ...] = ()


class PictureOptions(ModelGrader):
    """What graders that look at pictures have in common."""

    sees_pictures: ClassVar[bool] = True

    max_pictures: int = Field(default=30, ge=5, le=500)
    """How many pictures are considered: spread evenly over the attempt, the last five among them."""
    relevance_threshold: int = Field(default=3, ge=1, le=5)
    """Where pictures are rated from 1 to 5, the lowest rating of one that is looked at closely."""
    max_shown: int = Field(default=10, ge=3, le=100)
    """How many pictures are looked at closely; where there are more, all are rated first."""


class FaraMultimodalGrader(PictureOptions):
    """Asks by pictures whether the answer is true to them and the task is satisfied; both have to hold."""

    type: Literal["fara_multimodal"] = "fara_multimodal"
    prompts: ClassVar[tuple[str, ...]] = (relevance.RATE, PICTURES)
    replies: ClassVar[Replies] = (relevance.Ratings, Sight)

    async def prepare(self, recorded: Recorded, judge: Judge) -> Chosen:
        """Choose the pictures.

        Raises:
            Fault: there are none, or too many of them could not be rated.
        """
        files = await asyncio.to_thread(pictures.load_pictures, recorded)
        sample = pictures.sample_evenly(files, self.max_pictures, keep_last=KEEP_LAST)
        counts: dict[str, JsonValue] = {"pictures": len(files), "sampled": len(sample)}
        # Rating costs a question for each five pictures, which few pictures do not need.
        if len(sample) <= self.max_shown:
            return Chosen(sample, counts)
        parts = [give_task(recorded), give_answer(recorded)]
        batches, unrated = await relevance.sort_pictures(
            judge, relevance.Ratings, relevance.RATE, parts, sample
        )
        ratings = {rated.picture: rated.rating for batch in batches for rated in batch.pictures}
        numbers = relevance.pick_best(ratings, keep=self.relevance_threshold, most=self.max_shown)
        counts["ratings"] = {str(number): rating for number, rating in ratings.items()}
        return Chosen([path for path in sample if number_of(path) in numbers], counts, unrated)

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: Chosen) -> Opinion:
        """Return one vote.

        Raises:
            Fault: the judge cannot be asked.
        """
        shown = [pictures.Shown(path) for path in prepared.paths]
        said = await judge.ask(Sight, PICTURES, [give_task(recorded), give_answer(recorded), *shown])
        unsupported = "; ".join(f"{c.claim}: {c.shown}" for c in said.contradictions)
        opinion = Opinion.yes_or_no(
            said.is_consistent and said.is_satisfied,
            f"{said.reasoning} Not supported: {unsupported}" if unsupported else said.reasoning,
            criteria=(
                _criterion("the answer is consistent with the pictures", said.is_consistent, unsupported),
                _criterion("the task is satisfied", said.is_satisfied, ""),
            ),
            evidence=pictures.evidence_of(prepared.paths),
            details={
                **prepared.details,
                "unrated": list(prepared.unrated),
                "shown": [number_of(path) for path in prepared.paths],
                "contradictions": [c.model_dump(mode="json") for c in said.contradictions],
            },
        )
        return doubt_failure(opinion, prepared.unrated)


def _criterion(name: str, holds: bool, reason: str) -> Criterion:  # noqa: FBT001 it is the value
    verdict = Verdict.PASSED if holds else Verdict.FAILED
    return Criterion(name=name, verdict=verdict, expected=True, actual=holds, reason=reason)


# -- the three under one judge, and how their votes become a grade

_PARTS = (FaraAlignmentGrader, FaraRubricGrader, FaraMultimodalGrader)

PartName = Literal["alignment", "rubric", "multimodal"]
Results = Mapping[PartName, Opinion]
"""What the parts say; one that could not judge is undecided."""

_VERDICTS: dict[str, Verdict] = {
    "passed": Verdict.PASSED,
    "failed": Verdict.FAILED,
    "undecided": Verdict.ERRORED,
}


class FaraCombinedGrader(PictureOptions):
    """Verifies by actions, by a rubric and by pictures at once, and lets the three vote.

    A part that is errored has no vote: the grade stands if the others decide alone; otherwise it is errored.
    """

    type: Literal["fara_combined"] = "fara_combined"
    prompts: ClassVar[tuple[str, ...]] = tuple(prompt for part in _PARTS for prompt in part.prompts)
    replies: ClassVar[Replies] = tuple(reply for part in _PARTS for reply in part.replies)

    rule: Literal["majority", "all", "weighted"] = "majority"
    """``majority`` (two of three), ``all``, or ``weighted``."""
    weights: dict[PartName, Annotated[float, Field(ge=0, allow_inf_nan=False)]] | None = None
    """With ``weighted``: how much each vote weighs; all three are named. The same each by default."""
    threshold: float | None = Field(default=None, gt=0, le=1)
    """With ``weighted``: the share of the weights that has to pass; 0.5 by default."""
    rubric_threshold: float = Field(default=0.8, ge=0, le=1)
    """The share of the points from which the rubric passes."""

    @model_validator(mode="after")
    def _rule_is_complete(self) -> Self:
        if self.rule != "weighted" and (self.weights is not None or self.threshold is not None):
            raise ValueError(
                f"weights and threshold belong to the rule 'weighted', and the rule is {self.rule!r}. Write "
                "`rule: weighted`, or leave them out. The rubric's own limit is `rubric_threshold`."
            )
        if self.weights is not None and (len(self.weights) < 3 or not sum(self.weights.values())):
            raise ValueError(
                "weights names alignment, rubric and multimodal, not all of them 0. Write `weights: "
                "{alignment: 1, rubric: 2, multimodal: 2}`"
            )
        return self

    @property
    def _parts(self) -> dict[PartName, ModelGrader]:
        return {
            "alignment": FaraAlignmentGrader(),
            "rubric": FaraRubricGrader(threshold=self.rubric_threshold),
            "multimodal": FaraMultimodalGrader(
                max_pictures=self.max_pictures,
                relevance_threshold=self.relevance_threshold,
                max_shown=self.max_shown,
            ),
        }

    def _weight(self, name: PartName) -> float:
        return (self.weights or {}).get(name, 1.0)

    def check(self, task: Task, base_dir: Path) -> None:
        """Check the rubric that the row carries.

        Raises:
            ValueError: it does not have the form of one.
        """
        read_rubric(task)

    async def prepare(self, recorded: Recorded, judge: Judge) -> dict[PartName, Any]:
        """Prepare all parts at once; a part that cannot be prepared is its fault."""
        parts = self._parts
        # At once: the rubric and the rating of pictures need nothing of each other.
        prepared = await judge.gather(*(part.prepare(recorded, judge) for part in parts.values()))
        return dict(zip(parts, prepared, strict=True))

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: dict[PartName, Any]) -> Opinion:
        """Return one vote: that of the parts.

        Raises:
            Fault: all parts are errored.
        """
        ready = {name: part for name, part in self._parts.items() if not isinstance(prepared[name], Fault)}
        said = await judge.gather(
            *(part.opinion(recorded, judge, prepared[name]) for name, part in ready.items())
        )
        answers: dict[PartName, Opinion | Fault] = {**prepared, **dict(zip(ready, said, strict=True))}
        # Undecided, it has no vote. BrowserOS counts it as a no, which blames the agent for the judge.
        results: dict[PartName, Opinion] = {
            name: Opinion("undecided", 0.0, str(one)) if isinstance(one, Fault) else one
            for name, one in answers.items()
        }
        verdicts = {name: _VERDICTS[one.verdict] for name, one in results.items()}
        scores = {name: _score(one) for name, one in results.items()}
        sides = {word: [name for name, one in verdicts.items() if one is word] for word in Verdict}
        summary = "; ".join(f"{side}: {', '.join(names)}" for side, names in sides.items() if names)
        reasons = "\n".join(f"{name}: {one.reasoning}" for name, one in results.items())
        reasoning = f"{summary} (rule: {self.rule})\n{reasons}"
        given = [one for one in results.values() if one.verdict != "undecided"]
        if not given:
            raise GraderFault(reasoning)
        decided = self.decide(results)
        return Opinion(
            next(word for word in ("passed", "failed", "undecided") if _VERDICTS[word] is decided),
            weighted_mean((self._weight(name), score) for name, score in scores.items()),
            reasoning,
            criteria=tuple(
                Criterion(
                    name=name,
                    verdict=verdicts[name],
                    actual=scores[name],
                    reason=one.reasoning,
                    weight=self._weight(name),
                )
                for name, one in results.items()
            ),
            evidence=tuple(dict.fromkeys(file for one in given for file in one.evidence)),
            details={
                "rule": self.rule,
                "disagree": bool(sides[Verdict.PASSED] and sides[Verdict.FAILED]),
                **{side: [*names] for side, names in sides.items()},
                "parts": {name: _describe_result(one) for name, one in results.items()},
            },
        )

    def decide(self, results: Results) -> Verdict:
        """Return the verdict of the parts; *errored* if an errored part could have changed it."""
        if self.rule != "weighted":
            return decide([_VERDICTS[one.verdict] for one in results.values()], self.rule)
        votes = {"passed": 1.0, "failed": 0.0}
        weighed = [(self._weight(name), votes.get(one.verdict)) for name, one in results.items()]
        return decide_by_mean(weighed, 0.5 if self.threshold is None else self.threshold)[0]


def _score(opinion: Opinion) -> float | None:
    return None if opinion.verdict == "undecided" else opinion.score


def _describe_result(opinion: Opinion) -> dict[str, JsonValue]:
    summary: dict[str, JsonValue] = {"verdict": _VERDICTS[opinion.verdict], "reasoning": opinion.reasoning}
    if opinion.verdict != "undecided":
        criteria: list[JsonValue] = [c.model_dump(mode="json") for c in opinion.criteria]
        summary |= {"score": opinion.score, "details": opinion.details, "criteria": criteria}
    return summary
