"""Verification by a rubric that was fixed before the attempt was seen; sums and percentage are ours."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.graders.judging.actions import give_actions, load_steps
from pytest_browsereval.graders.judging.base import give_answer, give_task
from pytest_browsereval.graders.judging.judge import Given, Judge
from pytest_browsereval.graders.judging.rubrics import Rubric, get_rubric
from pytest_browsereval.graders.judging.scoring import RULES as SCORING
from pytest_browsereval.graders.judging.scoring import Scored, Scores, settle_scores
from pytest_browsereval.graders.judging.votes import Opinion

RULES = f"""\
You score by a rubric how well an agent did a task in a web browser. You are given the task, the rubric, \
the agent's actions as they were recorded (tool, arguments, whether it failed, the page's address, what \
the tool returned) and its final answer. You see no pictures.
{SCORING}"""


@dataclass(frozen=True)
class RubricCheck:
    """Scores the actions and the answer by a rubric.

    Args:
        threshold: the share of the points from which an attempt passes.
    """

    threshold: float = 0.8

    async def prepare(self, recorded: Recorded, judge: Judge) -> tuple[Rubric, Given]:
        """Return the actions, and the row's rubric or one that is made of the task alone.

        Raises:
            Fault: nothing was recorded, or the judge makes none.
        """
        steps = await asyncio.to_thread(load_steps, recorded)  # before a rubric is paid for
        return await get_rubric(recorded, judge), give_actions(steps, results=True)

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: tuple[Rubric, Given]) -> Opinion:
        """Return one vote.

        Raises:
            Fault: the judge cannot be asked, or contradicts the rubric or itself.
        """
        rubric, actions = prepared
        parts = [give_task(recorded), rubric.part(), actions, give_answer(recorded)]

        def score(said: Scores) -> Scored:
            return settle_scores(rubric, said.criteria)

        said = await judge.ask(Scores, RULES, parts, call="scores", check=score)
        scored = score(said)
        return Opinion(
            "passed" if scored.passes(self.threshold) else "failed",
            scored.score(),
            f"{scored.sentence(self.threshold)}. {said.reasoning}",
            criteria=scored.criteria(),
            details={"rubric": rubric.as_json(), **scored.as_json(self.threshold)},
        )
