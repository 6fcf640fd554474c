"""``fara_combined``: the three verifications under one judge, and how their votes become a grade."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, JsonValue, model_validator

from pytest_browsereval.errors import Fault
from pytest_browsereval.features.judges.fara.alignment import FaraAlignmentGrader
from pytest_browsereval.features.judges.fara.multimodal import FaraMultimodalGrader, PictureOptions
from pytest_browsereval.features.judges.fara.rubric import FaraRubricGrader
from pytest_browsereval.features.judges.scoring import TINY
from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.graders.judging.base import ModelGrader
from pytest_browsereval.graders.judging.judge import Judge
from pytest_browsereval.graders.judging.replies import Replies
from pytest_browsereval.graders.judging.votes import Opinion
from pytest_browsereval.model.grades import Criterion, Verdict
from pytest_browsereval.model.tasks import Task

_PARTS = (FaraAlignmentGrader, FaraRubricGrader, FaraMultimodalGrader)

PartName = Literal["alignment", "rubric", "multimodal"]
Rule = Literal["majority", "all", "weighted"]

Results = Mapping[PartName, Opinion | Fault]
"""What the parts say; a fault of one that could not judge."""


@dataclass(frozen=True)
class Ballot:
    """How the parts decide.

    Args:
        rule: ``majority`` of the parts, ``all`` of them, or ``weighted``.
        weights: of the votes, by part; one each by default.
        threshold: with ``weighted``, the share of all weights that has to pass.
    """

    rule: Rule = "majority"
    weights: Mapping[str, float] = field(default_factory=dict)
    threshold: float = 0.5

    def weight(self, part: str) -> float:
        """Return how much a part's vote weighs."""
        return self.weights.get(part, 1.0)

    def decide(self, results: Results) -> Literal["passed", "failed", "undecided"]:
        """Return the verdict if no errored part could have changed it; else "undecided"."""
        given = {part: _verdict(result) for part, result in results.items()}
        total = math.fsum(map(self.weight, given))
        passed = math.fsum(self.weight(part) for part, verdict in given.items() if verdict == "passed")
        failed = math.fsum(self.weight(part) for part, verdict in given.items() if verdict == "failed")
        needed = {"majority": len(given) // 2 + 1, "all": len(given), "weighted": self.threshold * total}
        # Missing votes count as a no here and as a yes below: only what holds both ways is decided.
        if passed >= needed[self.rule] - TINY:
            return "passed"
        return "failed" if total - failed < needed[self.rule] - TINY else "undecided"

    def score(self, results: Results) -> float:
        """Return the mean of the scores that were given, by weight."""
        scores = {part: result.score for part, result in results.items() if isinstance(result, Opinion)}
        weights = [self.weight(part) for part in scores]
        return fmean(scores.values(), weights) if sum(weights) else 0.0


class FaraCombinedGrader(PictureOptions):
    """Verifies by actions, by a rubric and by pictures at once, and lets the three vote.

    A part that is errored has no vote: the grade stands if the others decide alone; otherwise it is errored.
    """

    type: Literal["fara_combined"] = "fara_combined"
    prompts: ClassVar[tuple[str, ...]] = tuple(prompt for part in _PARTS for prompt in part.prompts)
    replies: ClassVar[Replies] = tuple(reply for part in _PARTS for reply in part.replies)

    rule: Rule = "majority"
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
                f"weights and threshold belong to the rule 'weighted', and the rule is {self.rule!r}. Write  "
                "rule: weighted , or leave them out. The rubric's own limit is  rubric_threshold."
            )
        if self.weights is not None and (len(self.weights) < 3 or not sum(self.weights.values())):
            raise ValueError(
                "weights names alignment, rubric and multimodal, not all of them 0. Write  weights: "
                "{alignment: 1, rubric: 2, multimodal: 2}"
            )
        return self

    @property
    def _ballot(self) -> Ballot:
        weights = {str(part): weight for part, weight in (self.weights or {}).items()}
        return Ballot(self.rule, weights, 0.5 if self.threshold is None else self.threshold)

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

    def check(self, task: Task, base_dir: Path) -> None:
        """Check the rubric that the row carries.

        Raises:
            ValueError: it does not have the form of one.
        """
        for part in self._parts.values():
            part.check(task, base_dir)

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
        results = {**prepared, **dict(zip(ready, said, strict=True))}
        return self._opinion({name: _settle_result(result) for name, result in results.items()})

    def _opinion(self, results: Results) -> Opinion:
        sides = _sort_results(results)
        summary = "; ".join(f"{side}: {', '.join(names)}" for side, names in sides.items() if names)
        reasons = "\n".join(f"{name}: {_reason(result)}" for name, result in results.items())
        reasoning = f"{summary} (rule: {self._ballot.rule})\n{reasons}"
        given = [result for result in results.values() if isinstance(result, Opinion)]
        if not given:
            raise GraderFault(reasoning)
        return Opinion(
            self._ballot.decide(results),
            self._ballot.score(results),
            reasoning,
            criteria=tuple(
                Criterion(
                    name=name,
                    verdict=Verdict(_verdict(result)),
                    actual=result.score if isinstance(result, Opinion) else None,
                    reason=_reason(result),
                    weight=self._ballot.weight(name),
                )
                for name, result in results.items()
            ),
            evidence=tuple(dict.fromkeys(file for opinion in given for file in opinion.evidence)),
            details={
                "rule": self._ballot.rule,
                "disagree": bool(sides["passed"] and sides["failed"]),
                **{side: [*names] for side, names in sides.items()},
                "parts": {name: _describe_result(result) for name, result in results.items()},
            },
        )


def _settle_result(result: Opinion | Fault) -> Opinion | Fault:
    """Return what a part says; one that is undecided has no vote."""
    # BrowserOS counts such a verifier as a no, which blames the agent for the judge.
    if isinstance(result, Opinion) and result.verdict == "undecided":
        return GraderFault(f"undecided: {result.reasoning}")
    return result


def _verdict(result: Opinion | Fault) -> str:
    return Verdict.ERRORED.value if isinstance(result, Fault) else result.verdict


def _reason(result: Opinion | Fault) -> str:
    return str(result) if isinstance(result, Fault) else result.reasoning


def _sort_results(results: Results) -> dict[str, list[PartName]]:
    words = ("passed", "failed", "errored")
    return {word: [name for name, result in results.items() if _verdict(result) == word] for word in words}


def _describe_result(result: Opinion | Fault) -> dict[str, JsonValue]:
    summary: dict[str, JsonValue] = {"verdict": _verdict(result), "reasoning": _reason(result)}
    if isinstance(result, Opinion):
        criteria: list[JsonValue] = [c.model_dump(mode="json") for c in result.criteria]
        summary |= {"score": result.score, "details": result.details, "criteria": criteria}
    return summary
