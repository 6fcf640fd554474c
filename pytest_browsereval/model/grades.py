"""Grades, verdicts and what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Any, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from pytest_browsereval.model.usage import Usage


class Verdict(StrEnum):
    """The three verdicts; the values are on disk and permanent."""

    PASSED = "passed"
    FAILED = "failed"
    """The thing under test was wrong."""
    ERRORED = "errored"
    """Browser, site, provider, grader or harness broke; never part of the pass rate."""


class Criterion(BaseModel):
    """One thing that a grader has checked."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: str
    verdict: Verdict
    expected: JsonValue = None
    actual: JsonValue = None
    reason: str = ""
    """One line that says what to do about it."""
    weight: float = 1.0


class Unanswered(BaseModel):
    """A model that did not answer a grader."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    what: str
    answered_at: float | None = None
    """When it last answered, in seconds since 1970; None if never."""


class GraderResult(BaseModel):
    """One grader's grade. An errored grade has no score: a grader that cannot judge never says 0."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    grader: str
    """The name of the grader in the config or row."""
    verdict: Verdict
    score: float | None = Field(default=None, ge=0, le=1)
    """From 0 to 1; None if the verdict is *errored*."""
    reasoning: str = ""
    """The reason in words; for an errored grade, what broke."""
    criteria: tuple[Criterion, ...] = ()
    evidence: tuple[str, ...] = ()
    """Files behind the grade, relative to the attempt's folder."""
    details: dict[str, JsonValue] = Field(default_factory=dict)
    fingerprint: str = ""
    """Identifies the judge: the version of its rule, and the name, prompt and parameters of a model."""
    advisory: bool = False
    """True if the grade is reported but does not affect the verdict."""
    vetoes: bool = False
    """True if the attempt fails or is errored with this grade, no matter what ``pass_when`` says."""
    usage: Usage = Usage()
    """Usage of its model calls, without those that were read from a record."""
    cost_usd: float | None = Field(default=None, ge=0)
    """The cost of its model calls, 0 without calls; None if a price is unknown, or nobody has counted."""
    duration_ms: float | None = Field(default=None, ge=0)
    stops_run: bool = Field(default=False, exclude=True)
    """True if every further attempt would meet the same fault, a refused key of the judge for example. It is
    stored with the attempt, and not here."""
    unanswered: Unanswered | None = Field(default=None, exclude=True)
    """The model that did not answer; rows that need it will probably be errored too. Not stored."""

    @property
    def outcome(self) -> str:
        """A word of the grader for what it found, ``outcome`` in its ``details``; empty if it has none."""
        return str(self.details.get("outcome", ""))

    @model_validator(mode="after")
    def _errors_have_no_score(self) -> Self:
        if self.verdict is Verdict.ERRORED and self.score is not None:
            raise ValueError(
                f"the grade of {self.grader!r} is errored, so it cannot have the score {self.score:g}"
            )
        return self


def cost_of(grades: Iterable[GraderResult]) -> float | None:
    """Return the cost of grades together; None if one has asked a model and does not know the cost.

    A grade without model calls costs nothing.
    """
    # None and not a sum of the rest: a budget must not take an unknown cost for a small one.
    total = 0.0
    for grade in grades:
        if grade.cost_usd is None and grade.usage.requests:
            return None
        total += grade.cost_usd or 0.0
    return total


def split_grades(grades: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield verdict and ``details`` of grades, those of its parts in place of one that was made of several.

    Args:
        grades: by their graders' names.
    """
    for one in grades.values():
        known = vars(one) if isinstance(one, GraderResult) else one
        details = known.get("details") if isinstance(known, dict) else None
        if isinstance(details, dict):
            parts = details.get("parts")
            yield from split_grades(parts) if isinstance(parts, dict) else [(known["verdict"], details)]


class Judged(Protocol):
    """Anything with a verdict."""

    @property
    def verdict(self) -> Verdict:
        """The verdict."""


def differ(grades: Iterable[Judged]) -> bool:
    """Return True if some grades passed and some failed; errored ones do not count."""
    verdicts = [grade.verdict for grade in grades]
    return _PASSED in verdicts and _FAILED in verdicts


_PASSED, _FAILED = Verdict.PASSED, Verdict.FAILED  # to look them up takes longer than to compare
