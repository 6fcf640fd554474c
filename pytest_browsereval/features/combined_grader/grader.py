"""``combined``: several graders as one, by a rule: all, any, majority or a weighted sum."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from pytest_browsereval.features.shared.combining import CombiningGrader
from pytest_browsereval.graders.base import GraderConfig
from pytest_browsereval.registry import MemberOf

AnyGrader = Annotated[GraderConfig, MemberOf("grader")]


class CombinedGrader(CombiningGrader):
    """Asks several graders and makes one grade of theirs. An errored part never counts as failed.

    Where an errored part could still turn the verdict, the grade is errored; else the others decide.
    """

    type: Literal["combined"] = "combined"

    graders: tuple[AnyGrader, ...] = Field(min_length=2)
    """The parts, of any type; their names must differ."""

    @property
    def parts(self) -> tuple[GraderConfig, ...]:
        """The graders that are asked."""
        return self.graders

    @model_validator(mode="after")
    def _parts_fit(self) -> Self:
        labels = [part.label for part in self.graders]
        # Evidence and grades of parts are kept by label: one of two with the same would be lost.
        if len(set(labels)) < len(labels):
            raise ValueError(f"the graders {labels} share a name. Give one a `name` of its own")
        if all(part.advisory for part in self.graders):
            raise ValueError("all graders are advisory, so none decides. Remove `advisory: true` from one")
        return self
