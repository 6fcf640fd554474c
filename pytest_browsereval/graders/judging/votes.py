"""Several votes of a judge, and their majority."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal

from pydantic import JsonValue

from pytest_browsereval.errors import Fault
from pytest_browsereval.model.grades import Criterion, Verdict


@dataclass(frozen=True)
class Opinion:
    """One vote."""

    verdict: Literal["passed", "failed", "undecided"]
    score: float
    """From 0 to 1; of no meaning where the judge could not decide."""
    reasoning: str
    criteria: tuple[Criterion, ...] = ()
    evidence: tuple[str, ...] = ()
    """Files in the attempt's folder that it rests on."""
    details: dict[str, JsonValue] = field(default_factory=dict)

    @classmethod
    def yes_or_no(cls, passed: bool, reasoning: str, **more: object) -> Opinion:  # noqa: FBT001 it is the value
        """Return a vote whose score is 1 or 0."""
        return cls("passed" if passed else "failed", float(passed), reasoning, **more)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Majority:
    """The result of a vote."""

    verdict: Verdict
    score: float | None
    reasoning: str
    speaker: Opinion | None
    """The first vote of the majority, or the first one that is undecided where there is none: its criteria
    and evidence are what the grade shows."""
    votes: list[JsonValue]
    is_undecided: bool = False


def count_votes(opinions: Sequence[Opinion | Fault]) -> Majority:
    """Return the verdict of more than half of all votes; without such a majority the grade is errored.

    A vote that failed counts for neither side. The score is the mean of the votes that were given.
    """
    # Of all votes, not of those that were given: two of five is not a majority because three failed.
    needed = len(opinions) // 2 + 1
    given = [opinion for opinion in opinions if isinstance(opinion, Opinion)]
    votes = [_describe_vote(opinion) for opinion in opinions]
    for word, verdict in (("passed", Verdict.PASSED), ("failed", Verdict.FAILED)):
        side = [opinion for opinion in given if opinion.verdict == word]
        if len(side) >= needed:
            # Undecided votes have no score.
            score = fmean(o.score for o in given if o.verdict != "undecided")
            count = "" if len(opinions) == 1 else f"{len(side)} of {len(opinions)} votes: "
            return Majority(verdict, score, count + side[0].reasoning, side[0], votes)
    faults = [opinion for opinion in opinions if isinstance(opinion, Fault)]
    if faults and len(opinions) == len(faults):
        return Majority(Verdict.ERRORED, None, str(faults[0]), None, votes)
    counts = {word: sum(o.verdict == word for o in given) for word in ("passed", "failed", "undecided")}
    told_counts = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
    unsure = next((o for o in given if o.verdict == "undecided"), None)
    why = unsure.reasoning if unsure else str(faults[0]) if faults else ""
    broken = f", {len(faults)} errored" if faults else ""
    reasoning = f"undecided: of {len(opinions)} votes {told_counts}{broken}. {why}".strip()
    return Majority(Verdict.ERRORED, None, reasoning, unsure, votes, is_undecided=True)


def _describe_vote(opinion: Opinion | Fault) -> JsonValue:
    if isinstance(opinion, Fault):
        return {"verdict": "errored", "reasoning": str(opinion)}
    score = None if opinion.verdict == "undecided" else opinion.score
    return {"verdict": opinion.verdict, "score": score, "reasoning": opinion.reasoning}
