"""Scores by a rubric: what a judge says of each criterion, and the sums, which are always ours."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pydantic import Field, JsonValue

from pytest_browsereval.errors import Fault
from pytest_browsereval.features.judges.rubrics import Item, Rubric
from pytest_browsereval.features.shared.judging.replies import JudgeReply
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.model.grades import Criterion, Verdict

TINY = 1e-9
"""What sums of fractions may be off."""

ScoreBy = Literal["points", "items"]
"""``points``: earned points among all; ``items``: criteria that are met among all, each of equal weight."""

RULES = read_prompts(__file__)["rules"]


class CriterionScore(JudgeReply):
    """What a judge says of one criterion."""

    id: str = Field(description="Of the criterion, as the rubric has it.")
    reason: str = Field(description="One or two sentences that name the facts.")
    applies: bool
    earned_points: float
    met: bool


class Scores(JudgeReply):
    """What a judge says who has read an attempt."""

    reasoning: str = Field(description="What the agent did and reached, in a few sentences.")
    criteria: list[CriterionScore]


class SeenCriterion(CriterionScore):
    """What a judge says of one criterion who has seen pictures."""

    pictures: list[int] = Field(description="Numbers of the pictures that it rests on; may be empty.")


class SeenScores(JudgeReply):
    """What a judge says who has read an attempt and seen pictures of it."""

    reasoning: str = Field(description="What the pictures confirm, and what they contradict.")
    criteria: list[SeenCriterion]


@dataclass(frozen=True)
class Mark:
    """The score of one criterion that applies."""

    item: Item
    earned: float
    is_met: bool
    reason: str
    pictures: tuple[int, ...] = ()

    def criterion(self) -> Criterion:
        """Return it as a line of the grade."""
        actual: dict[str, JsonValue] = {"earned_points": self.earned, "max_points": self.item.max_points}
        if self.pictures:
            actual["pictures"] = list(self.pictures)
        return Criterion(
            name=f"{self.item.key}: {self.item.criterion}",
            verdict=Verdict.PASSED if self.is_met else Verdict.FAILED,
            expected=self.item.description,
            actual=actual,
            reason=self.reason,
            weight=self.item.max_points,
        )


@dataclass(frozen=True)
class Scored:
    """An attempt by a rubric."""

    marks: tuple[Mark, ...]
    """Of the criteria that apply."""
    not_applicable: tuple[str, ...]
    """Ids of those whose condition does not hold: they are in no sum."""

    @cached_property
    def earned(self) -> float:
        """The sum of the points."""
        return math.fsum(mark.earned for mark in self.marks)

    @cached_property
    def possible(self) -> float:
        """The most that the sum could be."""
        return math.fsum(mark.item.max_points for mark in self.marks)

    @property
    def is_perfect(self) -> bool:
        """Whether every criterion is met."""
        return all(mark.is_met for mark in self.marks)

    @property
    def required_not_met(self) -> list[str]:
        """Ids of the criteria without which an attempt fails."""
        return [mark.item.key for mark in self.marks if mark.item.required and not mark.is_met]

    def score(self, by: ScoreBy = "points") -> float:
        """Return the score, from 0 to 1."""
        if by == "items":
            return sum(mark.is_met for mark in self.marks) / len(self.marks)
        # Sums of fractions may come to a little more than the whole.
        return min(1.0, self.earned / self.possible)

    def passes(self, threshold: float, by: ScoreBy = "points") -> bool:
        """Return whether the score is high enough and every required criterion is met."""
        return self.score(by) >= threshold - TINY and not self.required_not_met

    def sentence(self, threshold: float, by: ScoreBy = "points") -> str:
        """Return the score in words, and what speaks against it."""
        met = sum(mark.is_met for mark in self.marks)
        counted = f"{self.earned:g} of {self.possible:g} points"
        if by == "items":
            counted = f"{met} of {len(self.marks)} criteria"
        sentence = f"{counted} ({self.score(by):.1%}; {threshold:.1%} are needed)"
        missing = self.required_not_met
        return f"{sentence}, without what is required: {', '.join(missing)}" if missing else sentence

    def criteria(self) -> tuple[Criterion, ...]:
        """Return the lines of the grade."""
        return tuple(mark.criterion() for mark in self.marks)

    def as_json(self, threshold: float, by: ScoreBy = "points") -> dict[str, JsonValue]:
        """Return the score for the details of a grade."""
        return {
            "score": self.score(by),
            "score_by": by,
            "threshold": threshold,
            "earned_points": self.earned,
            "max_points": self.possible,
            "perfect": self.is_perfect,
            "required_not_met": list(self.required_not_met),
            "not_applicable": list(self.not_applicable),
        }


def settle_scores(rubric: Rubric, scores: Sequence[CriterionScore], shown: Collection[int] = ()) -> Scored:
    """Return the score of an attempt from a judge's marks.

    Args:
        rubric: what was scored by.
        scores: one for each criterion, in any order.
        shown: numbers of the pictures that the judge was shown.

    Raises:
        Fault: source *grader*; the marks are not those of the rubric, or contradict it or each other.
    """
    by_id = {score.id: score for score in scores}
    keys = [item.key for item in rubric.items]
    # A criterion that was left out would count as zero, and one twice over could make up for it.
    if len(by_id) != len(scores) or set(by_id) != set(keys):
        raise _contradiction(f"it scored {_join(s.id for s in scores)}, not {_join(keys)}")
    marks, left_out = [], []
    for item in rubric.items:
        score = by_id[item.key]
        _check(item, score)
        if not score.applies:
            left_out.append(item.key)
            continue
        pictures = tuple(score.pictures) if isinstance(score, SeenCriterion) else ()
        if unseen := sorted(set(pictures) - set(shown)):
            raise _contradiction(f"{item.key} rests on pictures that it was not shown: {_join(unseen)}")
        marks.append(Mark(item, score.earned_points, score.met, score.reason, pictures))
    if not marks:
        raise _contradiction("no criterion applies")
    return Scored(tuple(marks), tuple(left_out))


def _check(item: Item, score: CriterionScore) -> None:
    points = f"{score.earned_points:g} of {item.max_points:g} points"
    if not score.applies:
        if not item.condition:
            raise _contradiction(f"{item.key} has no condition and is said not to apply")
        if score.earned_points or score.met:
            raise _contradiction(f"{item.key} does not apply and has {points}, or is met")
        return
    if not 0 <= score.earned_points <= item.max_points:
        raise _contradiction(f"{item.key} has {points}")
    if score.met and not score.earned_points:
        raise _contradiction(f"{item.key} is met and has {points}")
    if not score.met and score.earned_points == item.max_points:
        raise _contradiction(f"{item.key} is not met and has {points}")


def _contradiction(message: str) -> Fault:
    return GraderFault(f"the judge contradicts the rubric or itself: {message}")


def _join(values: Iterable[object]) -> str:
    return ", ".join(str(value) for value in values) or "nothing"
