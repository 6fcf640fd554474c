"""Several graders as one, by a rule: all, any, majority or a weighted sum."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, JsonValue, model_validator

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.errors import PLUGIN_ERRORS, describe_error, is_given_up, nearest
from pytest_browsereval.features.shared.scores import decide_by_mean, weighted_mean
from pytest_browsereval.graders.base import GraderConfig, Recorded, hash_json
from pytest_browsereval.graders.grading import grade_one
from pytest_browsereval.graders.verdicts import combine
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict, cost_of, differ
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.model.usage import Usage
from pytest_browsereval.needs import Needs, merge_needs

GRACE_S = 5.0
"""How much longer than its slowest part the whole may take, so that the part's own limit is met first."""

HALF = 0.5


class CombiningGrader(GraderConfig):
    """Base of the members that ask several graders and make one grade of theirs.

    An errored part never counts as failed. Where an errored part could still turn the verdict, the grade is
    errored; else the others decide.
    """

    rule: Literal["all", "any", "majority", "weighted"] = "all"
    """Which parts have to pass: all, one, more than half; or ``weighted``: the weighted mean of their scores
    has to reach the threshold."""
    weights: dict[str, Annotated[float, Field(gt=0)]] = Field(default_factory=dict)
    """For ``weighted``: how much a part counts, by its name; 1 by default."""
    threshold: float | None = Field(default=None, gt=0, le=1)
    """For ``weighted``: the mean that passes; 0.5 by default."""

    @property
    @abstractmethod
    def parts(self) -> tuple[GraderConfig, ...]:
        """The graders that are asked; their names differ."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.rule != "weighted" and (self.weights or self.threshold is not None):
            raise ValueError(f"weights and threshold belong to rule: weighted, but the rule is {self.rule}")
        for name in self.weights:
            if name not in self._deciding:
                raise ValueError(
                    f"weights names {name!r}, which is not a grader that decides."
                    f"{nearest(name, self._deciding)} Graders: {', '.join(self._deciding)}"
                )
        return self

    @property
    def _deciding(self) -> list[str]:
        return [part.label for part in self.parts if not part.advisory]

    # -- what the parts need

    def secrets(self) -> tuple[str, ...]:
        """Return the secrets of all parts."""
        return tuple(secret for part in self.parts for secret in part.secrets())

    def needs(self, task: Task) -> Needs:
        """Return what the parts need. They are asked at once."""
        needs = merge_needs(part.needs(task) for part in self.parts)
        # Parts run at the same time, so the slowest one decides and not their sum.
        return replace(needs, seconds=needs.seconds + GRACE_S)

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that all parts can judge this row.

        Raises:
            ValueError: one cannot.
        """
        for part in self.parts:
            part.check(task, base_dir)

    def preflight(self, base_dir: Path) -> None:
        """Check what the parts need that does not depend on a row.

        Raises:
            ConfigError: with what to type next.
        """
        for part in self.parts:
            part.preflight(base_dir)

    # -- evidence and grade

    async def observe(self, window: Window, task: Task, site_urls: Mapping[str, str]) -> JsonValue:
        """Let each part read the live page; one that cannot is errored, the others are not."""
        seen: dict[str, JsonValue] = {}
        unobserved: dict[str, JsonValue] = {}
        for part in self.parts:
            try:
                value = await part.observe(window, task, site_urls)
            except PLUGIN_ERRORS as error:  # that part errs, the others judge
                if is_given_up(error):
                    raise
                unobserved[part.label] = describe_error(error)
            else:
                if value is not None:
                    seen[part.label] = value
        return {"seen": seen, "unobserved": unobserved} if seen or unobserved else None

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Ask all parts and combine their grades."""
        results = await asyncio.gather(*(self._ask_part(part, recorded) for part in self.parts))
        grades = {part.label: result for part, result in zip(self.parts, results, strict=True)}
        verdict, why = self._decide(grades)
        verdicts = ", ".join(f"{name} {grade.verdict}" for name, grade in grades.items())
        is_split = differ(grades.values())
        why = f"{why.rstrip('.')}. The graders disagree: {verdicts}." if is_split else why
        urls = recorded.site_urls
        rules = [self.rule, self.weights, self.threshold, [part.advisory for part in self.parts]]
        parts = [grades[part.label].fingerprint or part.fingerprint(0, urls) for part in self.parts]
        return GraderResult(
            grader=self.label,
            verdict=verdict,
            score=None if verdict is Verdict.ERRORED else weighted_mean(self._weigh(grades)),
            reasoning=f"{self.rule}: {why}",
            criteria=tuple(
                Criterion(
                    name=f"{name} (advisory)" if grade.advisory else name,
                    verdict=grade.verdict,
                    actual=grade.score,
                    reason=next(iter(grade.reasoning.splitlines()), ""),
                    weight=0.0 if grade.advisory else self.weights.get(name, 1.0),
                )
                for name, grade in grades.items()
            ),
            evidence=tuple(dict.fromkeys(file for grade in grades.values() for file in grade.evidence)),
            details={
                "rule": self.rule,
                "disagree": is_split,
                "parts": {name: grade.model_dump(mode="json") for name, grade in grades.items()},
            },
            fingerprint=f"{self.type}/1/{hash_json([rules, parts])}",
            usage=sum((grade.usage for grade in grades.values()), Usage()),
            cost_usd=cost_of(grades.values()),
            stops_run=any(grade.stops_run for grade in grades.values()),
            unanswered=next((grade.unanswered for grade in grades.values() if grade.unanswered), None),
        )

    async def _ask_part(self, part: GraderConfig, recorded: Recorded) -> GraderResult:
        given = recorded.evidence.get(self.label)
        evidence: Mapping[str, Any] = given if isinstance(given, dict) else {}
        seen = evidence.get("seen", {})
        own = {part.label: seen[part.label]} if part.label in seen else {}
        why = evidence.get("unobserved", {}).get(part.label, "")
        whole = recorded.evidence if recorded.whole is None else recorded.whole
        return await grade_one(part, replace(recorded, evidence=own, whole=whole), unobserved=why)

    def _decide(self, grades: Mapping[str, GraderResult]) -> tuple[Verdict, str]:
        if self.rule != "weighted":
            verdict, _, why = combine(grades, self.rule)
            return verdict, why
        wanted = HALF if self.threshold is None else self.threshold
        verdict, least, most = decide_by_mean(self._weigh(grades), wanted)
        if verdict is Verdict.PASSED:
            return verdict, f"the weighted mean is at least {least:.3g}; {wanted:g} passes"
        if verdict is Verdict.FAILED:
            return verdict, f"the weighted mean is at most {most:.3g}; {wanted:g} passes"
        errors = [f"{n}: {g.reasoning}" for n, g in grades.items() if g.verdict is Verdict.ERRORED]
        return verdict, (
            f"the weighted mean is between {least:.3g} and {most:.3g} for any score of its errored parts, "
            f"and {wanted:g} passes. {errors[0] if errors else ''}"
        )

    def _weigh(self, grades: Mapping[str, GraderResult]) -> list[tuple[float, float | None]]:
        return [
            (self.weights.get(name, 1.0), grade.score) for name, grade in grades.items() if not grade.advisory
        ]
