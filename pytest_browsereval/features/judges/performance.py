"""``performance``: six axes of how an attempt was done; it passes only if the task was done at all."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any, ClassVar, Literal

from pydantic import Field

from pytest_browsereval.features.shared.judging.base import (
    ModelGrader,
    Opinion,
    give_answer,
    give_reference,
    give_task,
)
from pytest_browsereval.features.shared.judging.judge import Given, Judge, Part
from pytest_browsereval.features.shared.judging.pictures import Shown, load_pictures, sample_evenly
from pytest_browsereval.features.shared.judging.replies import JudgeReply, Replies
from pytest_browsereval.features.shared.judging.steps import give_actions, has_succeeded, load_steps
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.model.grades import Criterion, Verdict
from pytest_browsereval.runs.folder import find_pictures
from pytest_browsereval.runs.turns import StoredStep
from pytest_browsereval.tools.base import ENDINGS

WEIGHTS = {
    "task_completion": 0.30,
    "reasoning_quality": 0.20,
    "efficiency": 0.20,
    "speed": 0.10,
    "error_recovery": 0.10,
    "autonomy": 0.10,
}
PASS_AT = 75.0

Kind = Literal["simple", "form_or_comparison", "several_sites"]
ANCHORS_S: dict[Kind, tuple[float, float]] = {
    "simple": (30, 60),
    "form_or_comparison": (60, 180),
    "several_sites": (180, 600),
}
"""How long a task of each kind takes if it goes well, and how long it may take."""

AT_UPPER, GONE_AT = 75.0, 4.0
"""The points of speed at the upper anchor, and after how many times as long none is left."""

DOUBTFUL_YES, DOUBTFUL_NO = 50.0, 90.0
"""Completed with fewer points than the first, or not completed with more than the second: the judge
contradicts itself."""

RULES = read_prompts(__file__)["rules"].format(least=f"{DOUBTFUL_YES:g}", most=f"{DOUBTFUL_NO:g}")


class Axis(JudgeReply):
    """One axis."""

    reason: str = Field(description="What in the record the points rest on, in a sentence.")
    points: float = Field(ge=0, le=100)


class Review(JudgeReply):
    """What the judge replies."""

    kind: Kind
    task_completion: Axis
    reasoning_quality: Axis
    error_recovery: Axis
    autonomy: Axis
    reasoning: str = Field(description="Whether the task is completed and why, in one or two sentences.")
    is_completed: bool


Facts = dict[str, Any]

JUDGED = ("task_completion", "reasoning_quality", "error_recovery", "autonomy")


class PerformanceGrader(ModelGrader):
    """Judges six weighted axes, 0 to 100 each; passes a completed task with a composite of 75 or more."""

    type: Literal["performance"] = "performance"
    prompts: ClassVar[tuple[str, ...]] = (RULES,)
    replies: ClassVar[Replies] = (Review,)

    pass_at: float = Field(default=PASS_AT, ge=0, le=100)
    """The composite that a completed task needs."""
    pictures: int = Field(default=5, ge=0, le=50)
    """How many pictures the judge is shown, spread over the attempt, the last one always; 0: texts only."""

    @property
    def sees_pictures(self) -> bool:
        """Whether it looks at the recorded pictures."""
        return self.pictures > 0

    async def prepare(self, recorded: Recorded, judge: Judge) -> tuple[Facts, list[Part]]:
        """Return what was measured, and the material.

        Raises:
            Fault: the time was not measured, or there is no picture or no record of the actions.
        """
        steps = await asyncio.to_thread(load_steps, recorded)
        hint = "`pictures: 0` to judge texts only"
        pictures = await asyncio.to_thread(load_pictures, recorded, else_write=hint) if self.pictures else []
        facts = measure_attempt(recorded, steps, len(find_pictures(recorded.folder)))
        parts: list[Part | None] = [
            give_task(recorded),
            give_answer(recorded),
            give_reference(recorded.task),
            give_actions(steps, results=True),
            Given("measured", json.dumps(facts, indent=1)),
            *(Shown(path, detail="low") for path in sample_evenly(pictures, self.pictures)),
        ]
        return facts, [part for part in parts if part is not None]

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: tuple[Facts, list[Part]]) -> Opinion:
        """Ask for four axes, compute the other two, and weigh them.

        Raises:
            Fault: no usable reply, or one that contradicts itself.
        """
        facts, parts = prepared
        review = await judge.ask(Review, RULES, parts, check=check_review)
        seconds, (lower, upper) = facts["total_duration_ms"] / 1000, ANCHORS_S[review.kind]
        wasted, count = facts["wasted_steps"], facts["step_count"]
        axes = {name: (getattr(review, name).points, getattr(review, name).reason) for name in JUDGED}
        # The share of steps that brought something; an answer that needed none wasted none.
        useful = round(100 * (1 - wasted / count), 2) if count else 100.0
        axes["efficiency"] = useful, f"{wasted} of {count} steps were wasted"
        took = f"{seconds:.1f} s; a {review.kind} task takes {lower:g} to {upper:g} s"
        axes["speed"] = compute_speed(seconds, review.kind), took
        composite = round(sum(weight * axes[name][0] for name, weight in WEIGHTS.items()), 4)
        done = "completed" if review.is_completed else "not completed"
        return Opinion(
            "passed" if review.is_completed and composite >= self.pass_at else "failed",
            composite / 100,
            f"{done}, {composite:.1f} of 100 (needs {self.pass_at:g}). {review.reasoning}",
            criteria=tuple(
                Criterion(
                    name=name,
                    verdict=Verdict.PASSED if axes[name][0] >= self.pass_at else Verdict.FAILED,
                    actual=round(axes[name][0], 2),
                    reason=axes[name][1],
                    weight=weight,
                )
                for name, weight in WEIGHTS.items()
            ),
            details={
                "composite": composite,
                "is_completed": review.is_completed,
                "kind": review.kind,
                "axes": {name: axes[name][0] for name in WEIGHTS},
                "facts": facts,
            },
        )


def check_review(review: Review) -> None:
    """Check that the points of a review fit what it says in the end.

    Raises:
        Fault: source *grader*; they do not.
    """
    points = review.task_completion.points
    if points < DOUBTFUL_YES if review.is_completed else points > DOUBTFUL_NO:
        word = "completed" if review.is_completed else "not completed"
        problem = f"it calls the task {word} and gives task_completion {points:g} of 100"
        raise GraderFault(f"the judge contradicts itself: {problem}")


def measure_attempt(recorded: Recorded, calls: list[StoredStep], pictures: int) -> Facts:
    """Return what was measured of an attempt; the judge reads it and is never asked for it.

    Raises:
        Fault: it was not measured how long the agent worked.
    """
    if recorded.agent_duration_ms is None:
        raise GraderFault("the agent's time was not measured, so speed cannot be judged")
    steps = [one for one in calls if one.call.tool not in ENDINGS]
    made = [(one.call.tool, one.call.params) for one in steps]
    again = {place for place, (one, next_one) in enumerate(pairwise(made), 1) if one == next_one}
    failed = sum(has_succeeded(one) is False for one in calls)
    usage = recorded.usage
    # Zero tokens would read as a free attempt.
    has_usage = usage.input_tokens or usage.output_tokens  # not by programs, nor of calls that were cut off
    return {
        "total_duration_ms": recorded.agent_duration_ms,
        "step_count": len(steps),
        "total_tool_calls": len(calls),
        "error_count": failed,
        "error_rate": round(failed / len(calls), 4) if calls else 0.0,
        "screenshot_count": pictures,
        "unique_tool_names": [*dict.fromkeys(one.call.tool for one in calls)],
        "termination_reason": str(recorded.termination_reason),
        "input_tokens": usage.input_tokens if has_usage else None,
        "output_tokens": usage.output_tokens if has_usage else None,
        # Failed, never answered, or the same as the step before; a call that is two of these is wasted once.
        "wasted_steps": sum(n in again or not has_succeeded(one) for n, one in enumerate(steps)),
    }


def compute_speed(seconds: float, kind: Kind) -> float:
    """Return the points of a time, from 0 to 100.

    100 up to the lower anchor of the task's kind, 75 at the upper one, 0 at four times that, and straight
    lines in between.
    """
    lower, upper = ANCHORS_S[kind]
    if seconds <= lower:
        return 100.0
    if seconds <= upper:
        return round(100 - (100 - AT_UPPER) * (seconds - lower) / (upper - lower), 2)
    return round(max(0.0, AT_UPPER * (1 - (seconds - upper) / (upper * (GONE_AT - 1)))), 2)
