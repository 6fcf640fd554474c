"""What a grader says, and how grades become a verdict."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class Verdict(StrEnum):
    """Three verdicts, never two. The values are on disk and permanent."""

    PASSED = "passed"
    FAILED = "failed"
    """The thing under test was wrong."""
    ERRORED = "errored"
    """Browser, site, provider, grader or harness broke: never part of the pass rate."""


class Criterion(BaseModel):
    """One thing that a grader looked at."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    verdict: Verdict
    expected: JsonValue = None
    actual: JsonValue = None
    reason: str = ""
    """One line to act on."""
    weight: float = 1.0


class GraderResult(BaseModel):
    """One grader's grade. Errored grades have no score: a grader that cannot judge never says 0."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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
    cost_usd: float | None = None
    duration_ms: float | None = None
