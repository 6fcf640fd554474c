"""Verification by pictures: is the answer true to what the pages showed, and is the task satisfied?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.graders.judging.base import ModelGrader, give_answer, give_task
from pytest_browsereval.graders.judging.judge import Judge
from pytest_browsereval.graders.judging.pictures import (
    Shown,
    evidence_of,
    load_pictures,
    number_of,
    sample_evenly,
)
from pytest_browsereval.graders.judging.relevance import (
    RATE,
    Ratings,
    doubt_failure,
    pick_best,
    sort_pictures,
)
from pytest_browsereval.graders.judging.replies import JudgeReply, Replies
from pytest_browsereval.graders.judging.votes import Opinion
from pytest_browsereval.model.grades import Criterion, Verdict

KEEP_LAST = 5
"""Pictures at the end of an attempt that are never left out before they are rated."""

RULES = """\
You verify by pictures the work of an agent that was given a task in a web browser. You are given the \
task, the agent's final answer, and pictures of the pages in the order in which they were taken, some of \
them left out. Decide two things apart from each other:
1. is_consistent: whether the pictures bear the final answer out. Go through what it claims. A claim that \
a picture contradicts makes it false; so does a claim that matters to the task and that no picture \
supports. An answer that claims nothing, or none at all, contradicts nothing.
2. is_satisfied: whether the pictures show that the task was done in full, with every limit that it \
states. Where something had to be changed, sent or bought, a picture shows that it took effect. What only \
the answer says is not shown. If you cannot tell, it is false.
List under contradictions each claim without support, with what the pictures show instead."""


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

    max_pictures: int = Field(default=30, ge=5, le=500)
    """How many pictures are considered: spread evenly over the attempt, the last five among them."""
    relevance_threshold: int = Field(default=3, ge=1, le=5)
    """Where pictures are rated from 1 to 5, the lowest rating of one that is looked at closely."""
    max_shown: int = Field(default=10, ge=3, le=100)
    """How many pictures are looked at closely; where there are more, all are rated first."""

    @property
    def sees_pictures(self) -> bool:
        """True: a run that takes none is refused."""
        return True


class FaraMultimodalGrader(PictureOptions):
    """Asks by pictures whether the answer is true to them and the task is satisfied; both have to hold."""

    type: Literal["fara_multimodal"] = "fara_multimodal"
    prompts: ClassVar[tuple[str, ...]] = (RATE, RULES)
    replies: ClassVar[Replies] = (Ratings, Sight)

    async def prepare(self, recorded: Recorded, judge: Judge) -> Chosen:
        """Choose the pictures.

        Raises:
            Fault: there are none, or too many of them could not be rated.
        """
        files = await asyncio.to_thread(load_pictures, recorded)
        sample = sample_evenly(files, self.max_pictures, keep_last=KEEP_LAST)
        counts: dict[str, JsonValue] = {"pictures": len(files), "sampled": len(sample)}
        # Rating costs a question for each five pictures, which few pictures do not need.
        if len(sample) <= self.max_shown:
            return Chosen(sample, counts)
        parts = [give_task(recorded), give_answer(recorded)]
        found = await sort_pictures(judge, Ratings, RATE, parts, sample)
        ratings = {rated.picture: rated.rating for batch in found.batches for rated in batch.pictures}
        numbers = pick_best(ratings, keep=self.relevance_threshold, most=self.max_shown)
        counts["ratings"] = {str(number): rating for number, rating in ratings.items()}
        return Chosen([path for path in sample if number_of(path) in numbers], counts, found.unrated)

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: Chosen) -> Opinion:
        """Return one vote.

        Raises:
            Fault: the judge cannot be asked.
        """
        shown = [Shown(path) for path in prepared.paths]
        said = await judge.ask(Sight, RULES, [give_task(recorded), give_answer(recorded), *shown])
        unsupported = "; ".join(f"{c.claim}: {c.shown}" for c in said.contradictions)
        opinion = Opinion.yes_or_no(
            said.is_consistent and said.is_satisfied,
            f"{said.reasoning} Not supported: {unsupported}" if unsupported else said.reasoning,
            criteria=(
                _criterion("the answer is consistent with the pictures", said.is_consistent, unsupported),
                _criterion("the task is satisfied", said.is_satisfied, ""),
            ),
            evidence=evidence_of(prepared.paths),
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
