"""The three verifications under one judge, and how their votes become a grade."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Literal, Protocol

from pydantic import JsonValue

from pytest_browsereval.errors import ErrorSource, Fault
from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.graders.fara.alignment import AlignmentCheck
from pytest_browsereval.graders.fara.multimodal import MultimodalCheck
from pytest_browsereval.graders.fara.rubric import RubricCheck
from pytest_browsereval.graders.judging.judge import Judge
from pytest_browsereval.graders.judging.scoring import TINY
from pytest_browsereval.graders.judging.votes import Opinion
from pytest_browsereval.model.grades import Criterion, Verdict

PartName = Literal["alignment", "rubric", "multimodal"]
Rule = Literal["majority", "all", "weighted"]

Results = Mapping[PartName, Opinion | Fault]
"""What the parts say; a fault of one that could not judge."""


class Verification(Protocol):
    """One way of verifying an attempt."""

    async def prepare(self, recorded: Recorded, judge: Judge) -> Any:
        """Return what all votes begin with."""

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: Any) -> Opinion:
        """Return one vote."""


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
        """Return what the parts come to, whatever those that are errored would have said; else undecided."""
        given = {part: _verdict(result) for part, result in results.items()}
        total = math.fsum(map(self.weight, given))
        passed = math.fsum(self.weight(part) for part, verdict in given.items() if verdict == "passed")
        failed = math.fsum(self.weight(part) for part, verdict in given.items() if verdict == "failed")
        needed = {"majority": len(given) // 2 + 1, "all": len(given), "weighted": self.threshold * total}
        if passed >= needed[self.rule] - TINY:
            return "passed"
        return "failed" if total - failed < needed[self.rule] - TINY else "undecided"

    def score(self, results: Results) -> float:
        """Return the mean of the scores that were given, by weight."""
        scores = {part: result.score for part, result in results.items() if isinstance(result, Opinion)}
        weights = [self.weight(part) for part in scores]
        return fmean(scores.values(), weights) if sum(weights) else 0.0


@dataclass(frozen=True)
class CombinedCheck:
    """Verifies in three ways at once and lets them vote."""

    rubric: RubricCheck
    multimodal: MultimodalCheck
    ballot: Ballot

    @property
    def parts(self) -> dict[PartName, Verification]:
        """The verifications by their names."""
        return {"alignment": AlignmentCheck(), "rubric": self.rubric, "multimodal": self.multimodal}

    async def prepare(self, recorded: Recorded, judge: Judge) -> dict[PartName, Any]:
        """Prepare all parts at once; a part that cannot be prepared is its fault."""
        parts = self.parts
        prepared = await judge.gather(*(part.prepare(recorded, judge) for part in parts.values()))
        return dict(zip(parts, prepared, strict=True))

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: dict[PartName, Any]) -> Opinion:
        """Return one vote: that of the parts.

        Raises:
            Fault: all parts are errored.
        """
        ready = {name: part for name, part in self.parts.items() if not isinstance(prepared[name], Fault)}
        said = await judge.gather(
            *(part.opinion(recorded, judge, prepared[name]) for name, part in ready.items())
        )
        results = {**prepared, **dict(zip(ready, said, strict=True))}
        return self._opinion({name: _settle_result(result) for name, result in results.items()})

    def _opinion(self, results: Results) -> Opinion:
        sides = _sort_results(results)
        summary = "; ".join(f"{side}: {', '.join(names)}" for side, names in sides.items() if names)
        reasons = "\n".join(f"{name}: {_reason(result)}" for name, result in results.items())
        reasoning = f"{summary} (rule: {self.ballot.rule})\n{reasons}"
        given = [result for result in results.values() if isinstance(result, Opinion)]
        if not given:
            raise Fault(ErrorSource.GRADER, reasoning)
        return Opinion(
            self.ballot.decide(results),
            self.ballot.score(results),
            reasoning,
            criteria=tuple(self._criterion(name, result) for name, result in results.items()),
            evidence=tuple(dict.fromkeys(file for opinion in given for file in opinion.evidence)),
            details={
                "rule": self.ballot.rule,
                "disagree": bool(sides["passed"] and sides["failed"]),
                "passed": list(sides["passed"]),
                "failed": list(sides["failed"]),
                "errored": list(sides["errored"]),
                "parts": {name: _describe_result(result) for name, result in results.items()},
            },
        )

    def _criterion(self, name: PartName, result: Opinion | Fault) -> Criterion:
        score = result.score if isinstance(result, Opinion) else None
        return Criterion(
            name=name,
            verdict=Verdict(_verdict(result)),
            actual=score,
            reason=_reason(result),
            weight=self.ballot.weight(name),
        )


def _settle_result(result: Opinion | Fault) -> Opinion | Fault:
    """Return what a part says; one that is undecided has no vote."""
    if isinstance(result, Opinion) and result.verdict == "undecided":
        return Fault(ErrorSource.GRADER, f"undecided: {result.reasoning}")
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
