"""``trajectory_score``: how well an attempt went in four categories: goal, plan, errors, context."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from pytest_browsereval.features.shared.judging.base import ModelGrader, Opinion, give_task
from pytest_browsereval.features.shared.judging.judge import Given, Judge
from pytest_browsereval.features.shared.judging.replies import JudgeReply, Replies
from pytest_browsereval.features.shared.judging.steps import has_succeeded, join_lines
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.model.messages import Message, ToolCallMessage, ToolResultMessage
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import Needs
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.runs.turns import StoredStep, read_steps

WEIGHTS = {"goalCompletion": 0.40, "planCorrectness": 0.30, "successRatio": 0.15, "contextEfficiency": 0.15}
"""The four categories, by the field names of the design documents."""

FINISHING = ("done", "done_tool")
PLANNING = ("classification_tool", "planner_tool")
MANY_CALLS = 20
RETRY_PENALTY, ERROR_PENALTY = 0.05, 0.10
BANDS = ((32_000, 1.0), (64_000, 0.8), (128_000, 0.6), (256_000, 0.4))
"""Up to so many tokens, the context's score; above all of them it is 0.2."""

LAST_MESSAGES, MESSAGE_LIMIT = 5, 100
"""How much of the log the model is shown for the goal, and at most how many characters of each message."""

TEXTS = read_prompts(__file__)
GOAL_RULES = TEXTS["goal_rules"]

PLAN_RULES = TEXTS["plan_rules"]


class Rated(JudgeReply):
    """What the judge replies."""

    reasoning: str = Field(description="Why, in one or two sentences.")
    score: float = Field(ge=0, le=1, description="From 0 to 1.")


Categories = dict[str, float]
"""The four scores by their names, each from 0 to 1."""


class TrajectoryScoreGrader(ModelGrader):
    """Scores goal, plan, errors and context from the message log, by rules of thumb or by a model.

    A diagnostic rather than a judgement: ``advisory: true`` keeps it out of the verdict.
    """

    type: Literal["trajectory_score"] = "trajectory_score"
    prompts: ClassVar[tuple[str, ...]] = (GOAL_RULES, PLAN_RULES)
    replies: ClassVar[Replies] = (Rated,)

    method: Literal["heuristic", "model"] = "heuristic"
    """Who scores goal and plan: fixed rules, or the judge. Errors and context are always counted."""
    threshold: float = Field(default=0.7, ge=0, le=1)
    """The weighted total that passes. The documents of the scorer name none; this default is ours."""

    @model_validator(mode="after")
    def _judge_is_used(self) -> Self:
        if self.method == "heuristic" and self.judge is not None:
            raise ValueError("the heuristic asks no judge. Write `method: model`, or leave the judge out")
        return self

    def needs(self, task: Task) -> Needs:
        """Return that it asks its judge; nothing for the heuristic."""
        return Needs() if self.method == "heuristic" else super().needs(task)

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Score the log by the chosen method.

        Raises:
            Fault: there is no log, so that nothing can be scored.
            StopRun: the provider refused the key.
        """
        if self.method == "model":
            return await super().grade(recorded)
        messages = await asyncio.to_thread(lambda: recorded.messages)
        return self.grade_by_rules(self._weigh(messages, {}, ""), recorded)

    async def prepare(self, recorded: Recorded, judge: Judge) -> tuple[Message, ...]:
        """Return the log.

        Raises:
            Fault: there is none, so that nothing can be judged.
        """
        messages = await asyncio.to_thread(lambda: recorded.messages)
        # The heuristic scores an empty log too, as its documents say; a model has nothing to read.
        if not messages:
            raise GraderFault("messages.jsonl is empty, so it is not known what the agent did")
        return messages

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: Any) -> Opinion:
        """Ask for goal and plan, and count the rest.

        Raises:
            Fault: one of the two got no number from 0 to 1.
        """
        messages: tuple[Message, ...] = prepared
        task = give_task(recorded)
        end = Given("end of the record", "\n".join(map(_describe_message, messages[-LAST_MESSAGES:])))
        names = "\n".join(join_lines(one.call.tool) for one in read_steps(messages)) or "(no tool was called)"
        goal, plan = await judge.ask_all(
            judge.ask(Rated, GOAL_RULES, (task, end), call="goal score"),
            judge.ask(Rated, PLAN_RULES, (task, Given("tools called", names)), call="plan score"),
        )
        judged = {"goalCompletion": goal.score, "planCorrectness": plan.score}
        return self._weigh(messages, judged, f"Goal: {goal.reasoning} Plan: {plan.reasoning}")

    def _weigh(self, messages: Sequence[Message], judged: Categories, reasoning: str) -> Opinion:
        calls, scores = read_steps(messages), score_by_rules(messages) | judged
        total = round(sum(weight * scores[name] for name, weight in WEIGHTS.items()), 6)
        passes = total >= self.threshold
        scored = ", ".join(f"{name} {value:.2f}" for name, value in scores.items())
        limit = f"{'>=' if passes else '<'} {self.threshold:g}"
        return Opinion(
            "passed" if passes else "failed",
            total,
            f"{self.method}: {total:.2f} {limit} ({scored}). {reasoning}".strip(),
            criteria=tuple(
                Criterion(
                    name=name,
                    verdict=Verdict.PASSED if scores[name] >= self.threshold else Verdict.FAILED,
                    expected=f">= {self.threshold:g}",
                    actual=round(scores[name], 4),
                    weight=weight,
                )
                for name, weight in WEIGHTS.items()
            ),
            details={
                "method": self.method,
                **scores,
                "weightedTotal": total,
                "toolCalls": len(calls),
                "failedCalls": sum(has_succeeded(call) is False for call in calls),
                "retries": count_retries(calls),
                "tokens": estimate_tokens(messages),
                **({"reasoning": reasoning} if reasoning else {}),
            },
        )


def score_by_rules(messages: Sequence[Message]) -> Categories:
    """Return the four scores by the rules that need no model."""
    calls, tokens = read_steps(messages), estimate_tokens(messages)
    names = {one.call.tool for one in calls}
    # Fixed figures of the published heuristic: who calls the finishing tool has probably got somewhere.
    plan = 0.3 if len(calls) > MANY_CALLS else 0.7 if names & {*PLANNING} else 0.5 if calls else 0.0
    return {
        "goalCompletion": 0.8 if names & {*FINISHING} else 0.3,
        "planCorrectness": plan,
        "successRatio": compute_success_ratio(calls),
        "contextEfficiency": next((score for most, score in BANDS if tokens <= most), 0.2),
    }


def compute_success_ratio(calls: Sequence[StoredStep]) -> float:
    """Return the share of calls that succeeded, less a penalty for each retry and each error.

    A retry that fails is punished twice; the documented formula is kept as it is. Calls whose result never
    came are in neither count.
    """
    # A call that was cut off by the end of the attempt is nobody's failure.
    over = [found for call in calls if (found := has_succeeded(call)) is not None]
    if not over:
        return 1.0
    failed = over.count(False)
    ratio = (len(over) - failed) / len(over) - RETRY_PENALTY * count_retries(calls) - ERROR_PENALTY * failed
    return max(0.0, round(ratio, 6))


def _describe_message(message: Message) -> str:
    tool, text = _read(message)
    return f"{message.type}: {beginning(join_lines(f'{tool}({text})' if tool else text), MESSAGE_LIMIT)}"


def _read(message: Message) -> tuple[str, str]:
    """Return the tool that a message calls, "" for another one, and what it says."""
    if isinstance(message, ToolCallMessage):
        return message.tool, json.dumps(message.params, ensure_ascii=False)
    if isinstance(message, ToolResultMessage):
        result = message.result
        return "", result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    said = (getattr(message, name, None) for name in ("content", "instruction", "summary"))
    return "", next((text for text in said if isinstance(text, str)), "")


# -- measures of an attempt from its message log, without a model

CHARACTERS_A_TOKEN = 4
"""The usual rule of thumb, for agents that report no usage."""


def count_retries(calls: Sequence[StoredStep]) -> int:
    """Return how often a tool was called twice in a row, with any arguments."""
    return sum(before.call.tool == after.call.tool for before, after in pairwise(calls))


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Return about how many tokens the log holds: a quarter of its characters."""
    return sum(len(text) for message in messages for text in _read(message)) // CHARACTERS_A_TOKEN
