"""Rubrics: read from a row, or made by a judge of the task alone, before anybody has seen the attempt."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import asdict, dataclass
from typing import Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from pytest_browsereval.errors import nearest
from pytest_browsereval.features.shared.judging.base import give_task
from pytest_browsereval.features.shared.judging.judge import Given, Judge
from pytest_browsereval.features.shared.judging.replies import JudgeReply
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.graders.base import Recorded, hash_json
from pytest_browsereval.graders.values import describe_invalid
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.known import beginning

FEWEST, MOST, POINTS = 4, 8, 100
"""Of a rubric that a judge makes: criteria, and the sum of their points."""

MAKE = read_prompts(__file__)["make"].format(fewest=FEWEST, most=MOST, points=POINTS)

# What names a criterion: it stands in lists that judges read, where a line break would forge a score.
_ID = re.compile(r"[\w.-]{1,40}")

_FORMS = (
    'Write {"items": [{"criterion": "...", "description": "...", "max_points": 20}, ...]} or {"rubrics": '
    '{"R1": {"requirement": "...", "verification": "..."}, ...}}.'
)


@dataclass(frozen=True)
class Item:
    """One criterion of a rubric."""

    key: str
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
        return [
            {"id": item.key, **{k: v for k, v in asdict(item).items() if k != "key"}} for item in self.items
        ]


class NewCriterion(JudgeReply):
    """One criterion of a rubric that a judge writes."""

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
        if any(item.max_points < 1 or not item.criterion.strip() for item in self.items):
            raise ValueError("a criterion of the rubric has no name or no points")
        # With one sum for all rubrics, points of different rows mean the same.
        if (total := sum(item.max_points for item in self.items)) != POINTS:
            raise ValueError(f"the points of the rubric add up to {total}, not {POINTS}")
        # Otherwise an attempt to which none applies has no score at all.
        if all(item.condition.strip() for item in self.items):
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
    items = (
        Item(
            f"C{place}",
            new.criterion.strip(),
            new.description,
            new.max_points,
            required=new.required,
            condition=new.condition.strip(),
        )
        for place, new in enumerate(reply.items, start=1)
    )
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
    description, condition = one.description or "", one.condition or ""
    return Item(
        key, one.criterion, description, one.max_points, required=bool(one.required), condition=condition
    )
