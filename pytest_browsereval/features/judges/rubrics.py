"""Rubrics, read from a row or made by a judge of the task alone, and scores by them, whose sums are ours."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from pytest_browsereval.errors import Fault, nearest
from pytest_browsereval.features.shared.judging.base import ModelGrader, give_task
from pytest_browsereval.features.shared.judging.judge import Given, Judge
from pytest_browsereval.features.shared.judging.replies import JudgeReply
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.graders.base import GraderFault, Recorded, hash_json
from pytest_browsereval.graders.values import describe_invalid
from pytest_browsereval.model.grades import Criterion, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.known import beginning

FEWEST, MOST, POINTS = 4, 8, 100
"""Of a rubric that a judge makes: criteria, and the sum of their points."""

TEXTS = read_prompts(__file__)
MAKE = TEXTS["make"].format(fewest=FEWEST, most=MOST, points=POINTS)
RULES = TEXTS["rules"]

TINY = 1e-9
"""What sums of fractions may be off."""

ScoreBy = Literal["points", "items"]
"""``points``: earned points among all; ``items``: criteria that are met among all, each of equal weight."""

# What names a criterion: it stands in lists that judges read, where a line break would forge a score.
_ID = re.compile(r"[\w.-]{1,40}")

_FORMS = (
    'Write {"items": [{"criterion": "...", "description": "...", "max_points": 20}, ...]} or {"rubrics": '
    '{"R1": {"requirement": "...", "verification": "..."}, ...}}.'
)


@dataclass(frozen=True)
class Item:
    """One criterion of a rubric."""

    id: str
    """Names it in questions and replies: ``C1``."""
    criterion: str
    description: str
    max_points: float
    required: bool = False
    """The attempt fails if it is not met, however high the sum."""
    condition: str = ""
    """When it counts at all; empty: always."""


@dataclass(frozen=True)
class Rubric:
    """What an attempt is scored by."""

    items: tuple[Item, ...]
    source: Literal["row", "made"]

    @property
    def identity(self) -> str:
        """12 hex digits over the criteria: scores by unlike rubrics are not comparable."""
        return hash_json(self._plain())

    def part(self) -> Given:
        """Return the rubric for a judge, one criterion a line."""
        return Given("rubric", "\n".join(json.dumps(item, ensure_ascii=False) for item in self._plain()))

    def as_json(self) -> JsonValue:
        """Return the rubric for the details of a grade."""
        return {"source": self.source, "id": self.identity, "items": self._plain()}

    def _plain(self) -> list[JsonValue]:
        return [asdict(item) for item in self.items]


class NewCriterion(JudgeReply):
    """One criterion of a rubric that a judge writes."""

    model_config = ConfigDict(str_strip_whitespace=True)

    criterion: str = Field(description="What is looked at, in a few words.")
    description: str = Field(description="What earns all of the points, and what some of them.")
    max_points: int = Field(description="A whole number of at least 1.")
    required: bool = Field(description="Whether the task cannot count as done without it.")
    condition: str = Field(description="When the criterion counts; an empty text if it always does.")


class NewRubric(JudgeReply):
    """A rubric that a judge writes."""

    reasoning: str = Field(description="What the task asks for, and what makes an attempt better or worse.")
    items: list[NewCriterion] = Field(description=f"{FEWEST} to {MOST} criteria, {POINTS} points together.")

    @model_validator(mode="after")
    def _is_a_rubric(self) -> Self:
        if not FEWEST <= len(self.items) <= MOST:
            raise ValueError(f"the rubric has {len(self.items)} criteria, not {FEWEST} to {MOST}")
        if any(item.max_points < 1 or not item.criterion for item in self.items):
            raise ValueError("a criterion of the rubric has no name or no points")
        # With one sum for all rubrics, points of different rows mean the same.
        if (total := sum(item.max_points for item in self.items)) != POINTS:
            raise ValueError(f"the points of the rubric add up to {total}, not {POINTS}")
        # Otherwise an attempt to which none applies has no score at all.
        if all(item.condition for item in self.items):
            raise ValueError("every criterion of the rubric has a condition")
        return self


async def get_rubric(recorded: Recorded, judge: Judge) -> Rubric:
    """Return the row's rubric, or one that the judge makes of the task alone.

    Raises:
        Fault: source *grader*; the judge failed twice to make one. No general rubric replaces it.
        ValueError: the row's rubric does not have the form of one.
    """
    if own := read_rubric(recorded.task):
        return own
    reply = await judge.ask(NewRubric, MAKE, [give_task(recorded)], call="rubric")
    items = (Item(f"C{place}", **new.model_dump()) for place, new in enumerate(reply.items, start=1))
    return Rubric(tuple(items), "made")


# -- the row's own


def read_rubric(task: Task) -> Rubric | None:
    """Return the rubric that a row carries, None if it carries none.

    It is the value of ``rubric`` or, in some benchmarks, of ``metadata.additional.precomputed_rubric``.
    Reasons and points that are noted in it beforehand are never shown to a judge.

    Raises:
        ValueError: it does not have the form of one; the message says where and what to write.
    """
    given, place = task.rubric, "rubric"
    if given is None:
        place = "metadata.additional.precomputed_rubric"
        given = task.metadata.additional.get("precomputed_rubric")
    if given is None:
        return None
    try:
        return Rubric(_items(given), "row")
    except ValueError as error:
        raise ValueError(f"the row's {place} {error}") from None


class _RowItem(BaseModel):
    model_config = ConfigDict(strict=True, str_strip_whitespace=True)

    criterion: str = Field(min_length=1, validation_alias=AliasChoices("criterion", "requirement"))
    description: str | None = Field(
        default=None, validation_alias=AliasChoices("description", "verification")
    )
    max_points: float = Field(gt=0, allow_inf_nan=False)
    required: bool | None = None
    condition: str | None = None


_KEYS = (*_RowItem.model_fields, "requirement", "verification")


def _items(given: JsonValue) -> tuple[Item, ...]:
    if isinstance(given, dict) and isinstance(listed := given.get("items"), list) and listed:
        return tuple(_read_item(f"C{n}", one, n) for n, one in enumerate(listed, start=1))
    if isinstance(given, dict) and "items" not in given:
        named = given.get("rubrics", given)
        if isinstance(named, dict) and named:
            for key in named:
                if not _ID.fullmatch(key):
                    wrong = f"names a criterion {beginning(key, 60)!r}."
                    raise ValueError(f"{wrong} Write letters, digits, dots and dashes, such as R1")
            pairs = enumerate(named.items(), start=1)
            return tuple(_read_item(key, one, n, max_points=1) for n, (key, one) in pairs)
    raise ValueError(f"is not a rubric: {beginning(str(given), 60)!r}. {_FORMS}")


def _read_item(key: str, given: JsonValue, place: int, **defaults: JsonValue) -> Item:
    try:
        one = _RowItem.model_validate({**defaults, **given} if isinstance(given, dict) else given)
    except ValidationError as error:
        wrong = f"{beginning(str(given), 60)!r} ({describe_invalid(error)})"
        raise ValueError(f"has a criterion {place} that cannot be used: {wrong}. {_FORMS}") from None
    for other in given if isinstance(given, dict) else ():
        # Benchmarks note more than a judge needs, but a misspelt key would change the score unseen.
        if other not in _KEYS and difflib.get_close_matches(other, _KEYS, n=1, cutoff=0.8):
            wrong = f"with the unknown key {other!r}.{nearest(other, _KEYS)}"
            raise ValueError(f"has a criterion {place} {wrong}")
    return Item(key, **{"description": "", **one.model_dump(exclude_none=True)})


# -- scores by it


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
    said: CriterionScore

    def criterion(self) -> Criterion:
        """Return it as a line of the grade."""
        actual: dict[str, JsonValue] = {
            "earned_points": self.said.earned_points,
            "max_points": self.item.max_points,
        }
        if isinstance(self.said, SeenCriterion) and self.said.pictures:
            actual["pictures"] = [*self.said.pictures]
        return Criterion(
            name=f"{self.item.id}: {self.item.criterion}",
            verdict=Verdict.PASSED if self.said.met else Verdict.FAILED,
            expected=self.item.description,
            actual=actual,
            reason=self.said.reason,
            weight=self.item.max_points,
        )


@dataclass(frozen=True)
class Scored:
    """An attempt by a rubric."""

    marks: tuple[Mark, ...]
    """Of the criteria that apply."""
    not_applicable: tuple[str, ...]
    """Ids of those whose condition does not hold: they are in no sum."""
    threshold: float
    """The score that passes."""
    by: ScoreBy

    @cached_property
    def score(self) -> float:
        """The score, from 0 to 1."""
        if self.by == "items":
            return sum(mark.said.met for mark in self.marks) / len(self.marks)
        # Sums of fractions may come to a little more than the whole.
        return min(1.0, self._points[0] / self._points[1])

    @property
    def _points(self) -> tuple[float, float]:
        earned = math.fsum(mark.said.earned_points for mark in self.marks)
        return earned, math.fsum(mark.item.max_points for mark in self.marks)

    @property
    def _missing(self) -> list[str]:
        return [mark.item.id for mark in self.marks if mark.item.required and not mark.said.met]

    @property
    def passes(self) -> bool:
        """Whether the score is high enough and every required criterion is met."""
        return self.score >= self.threshold - TINY and not self._missing

    def describe(self) -> str:
        """Return the score in words, and what speaks against it."""
        counted = "{:g} of {:g} points".format(*self._points)
        if self.by == "items":
            counted = f"{sum(mark.said.met for mark in self.marks)} of {len(self.marks)} criteria"
        sentence = f"{counted} ({self.score:.1%}; {self.threshold:.1%} are needed)"
        missing = f", without what is required: {', '.join(self._missing)}" if self._missing else ""
        return sentence + missing

    def criteria(self) -> tuple[Criterion, ...]:
        """Return the lines of the grade."""
        return tuple(mark.criterion() for mark in self.marks)

    def as_json(self) -> dict[str, JsonValue]:
        """Return the score for the details of a grade."""
        earned, possible = self._points
        return {
            "score": self.score,
            "score_by": self.by,
            "threshold": self.threshold,
            "passed": self.passes,
            "earned_points": earned,
            "max_points": possible,
            "perfect": all(mark.said.met for mark in self.marks),
            "required_not_met": [*self._missing],
            "not_applicable": [*self.not_applicable],
        }


class ScoringGrader(ModelGrader):
    """Base of graders that score by the row's rubric, or by one that is made of the task alone."""

    threshold: float = Field(default=0.8, ge=0, le=1)
    """The score from which the work passes, if every required criterion is met."""

    def check(self, task: Task, base_dir: Path) -> None:
        """Check the rubric that the row carries.

        Raises:
            ValueError: it does not have the form of one.
        """
        read_rubric(task)


def settle_scores(
    rubric: Rubric,
    scores: Sequence[CriterionScore],
    threshold: float,
    *,
    by: ScoreBy = "points",
    shown: Collection[int] = (),
) -> Scored:
    """Return the score of an attempt from a judge's marks.

    Args:
        rubric: what was scored by.
        scores: one for each criterion, in any order.
        threshold: the score that passes.
        by: what is counted.
        shown: numbers of the pictures that the judge was shown.

    Raises:
        Fault: source *grader*; the marks are not those of the rubric, or contradict it or each other.
    """
    by_id = {score.id: score for score in scores}
    keys = [item.id for item in rubric.items]
    # A criterion that was left out would count as zero, and one twice over could make up for it.
    if len(by_id) != len(scores) or set(by_id) != set(keys):
        given = ", ".join(score.id for score in scores) or "nothing"
        raise _contradiction(f"it scored {given}, not {', '.join(keys)}")
    marks = [Mark(item, by_id[item.id]) for item in rubric.items]
    for mark in marks:
        if wrong := next(_find_contradictions(mark, shown), None):
            raise _contradiction(f"{mark.item.id} {wrong}")
    if not any(mark.said.applies for mark in marks):
        raise _contradiction("no criterion applies")
    left_out = tuple(mark.item.id for mark in marks if not mark.said.applies)
    return Scored(tuple(mark for mark in marks if mark.said.applies), left_out, threshold, by)


def _find_contradictions(mark: Mark, shown: Collection[int]) -> Iterator[str]:
    item, said = mark.item, mark.said
    points = f"{said.earned_points:g} of {item.max_points:g} points"
    if not said.applies and not item.condition:
        yield "has no condition and is said not to apply"
    elif not said.applies and (said.earned_points or said.met):
        yield f"does not apply and has {points}, or is met"
    elif not 0 <= said.earned_points <= item.max_points:
        yield f"has {points}"
    elif said.applies and said.met and not said.earned_points:
        yield f"is met and has {points}"
    elif said.applies and not said.met and said.earned_points == item.max_points:
        yield f"is not met and has {points}"
    elif isinstance(said, SeenCriterion) and (unseen := sorted({*said.pictures} - {*shown})):
        yield f"rests on pictures that it was not shown: {', '.join(map(str, unseen))}"


def _contradiction(message: str) -> Fault:
    return GraderFault(f"the judge contradicts the rubric or itself: {message}")
