"""Grades of graders, and how they become a verdict."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from pytest_browsereval.model.usage import Usage


class Verdict(StrEnum):
    """Three verdicts, never two. The values are on disk and permanent."""

    PASSED = "passed"
    FAILED = "failed"
    """The thing under test was wrong."""
    ERRORED = "errored"
    """Browser, site, provider, grader or harness broke: never part of the pass rate."""


class Criterion(BaseModel):
    """One thing that a grader looked at."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: str
    verdict: Verdict
    expected: JsonValue = None
    actual: JsonValue = None
    reason: str = ""
    """One line to act on."""
    weight: float = 1.0


class Unanswered(BaseModel):
    """A model that a grader asked, and that did not answer."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    what: str
    answered_at: float | None = None
    """When it answered the last time, in seconds since 1970; None if never."""


class GraderResult(BaseModel):
    """One grader's grade. Errored grades have no score: a grader that cannot judge never says 0."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    grader: str
    """The name that the config or row gives it."""
    verdict: Verdict
    score: float | None = Field(default=None, ge=0, le=1)
    """From 0 to 1; None if and only if the verdict is *errored*."""
    reasoning: str = ""
    """Why, in words; for an errored grade, what broke."""
    criteria: tuple[Criterion, ...] = ()
    evidence: tuple[str, ...] = ()
    """Files in the attempt's folder that the grade rests on, relative to it."""
    details: dict[str, JsonValue] = Field(default_factory=dict)
    fingerprint: str = ""
    """Identifies the judge: rule version and, for a model, its name, prompt and parameters."""
    advisory: bool = False
    """True if it is told beside the others and never decides the verdict."""
    usage: Usage = Usage()
    """What its model calls used; those that were read again from a record are not in it."""
    cost_usd: float | None = Field(default=None, ge=0)
    """What its model calls cost, 0 if none was made; None if a price is not known, or nobody counted."""
    duration_ms: float | None = Field(default=None, ge=0)
    stops_run: bool = Field(default=False, exclude=True)
    """It met what every further attempt would meet: its judge's key is refused. Kept of the attempt only."""

    unanswered: Unanswered | None = Field(default=None, exclude=True)
    """What rows that need the same model will most likely meet too. Kept nowhere."""

    @model_validator(mode="after")
    def _errors_have_no_score(self) -> Self:
        if self.verdict is Verdict.ERRORED and self.score is not None:
            raise ValueError(
                f"the grade of {self.grader!r} is errored and has the score {self.score:g}: none"
            )
        return self


def cost_of(grades: Iterable[GraderResult]) -> float | None:
    """Return what grades cost together; None if one that asked a model does not know what that cost.

    A grade that asked none and tells no cost has none.
    """
    total = 0.0
    for grade in grades:
        if grade.cost_usd is None and grade.usage.requests:
            return None
        total += grade.cost_usd or 0.0
    return total


class Judged(Protocol):
    """Anything with a verdict."""

    @property
    def verdict(self) -> Verdict:
        """What was found."""


def differ(grades: Iterable[Judged]) -> bool:
    """Return whether some of the grades passed and some failed; errored ones say nothing."""
    return {Verdict.PASSED, Verdict.FAILED} <= {grade.verdict for grade in grades}
