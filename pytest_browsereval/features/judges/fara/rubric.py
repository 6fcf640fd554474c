"""Verification by a rubric that was fixed before the attempt was seen; sums and percentage are ours."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from pytest_browsereval.features.judges import rubrics
from pytest_browsereval.features.judges.rubrics import Rubric, get_rubric, read_rubric
from pytest_browsereval.features.judges.scoring import RULES as SCORING
from pytest_browsereval.features.judges.scoring import Scored, Scores, settle_scores
from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.graders.judging.actions import give_actions, load_steps
from pytest_browsereval.graders.judging.base import ModelGrader, give_answer, give_task
from pytest_browsereval.graders.judging.judge import Given, Judge
from pytest_browsereval.graders.judging.replies import Replies
from pytest_browsereval.graders.judging.votes import Opinion
from pytest_browsereval.model.tasks import Task

RULES = f"""\
You score by a rubric how well an agent did a task in a web browser. You are given the task, the rubric, \
the agent's actions as they were recorded (tool, arguments, whether it failed, the page's address, what \
the tool returned) and its final answer. You see no pictures.
{SCORING}"""


class FaraRubricGrader(ModelGrader):
    """Scores actions and answer by a rubric: the row's, or one that is made of the task alone."""

    type: Literal["fara_rubric"] = "fara_rubric"
    prompts: ClassVar[tuple[str, ...]] = (rubrics.MAKE, RULES)
    replies: ClassVar[Replies] = (rubrics.NewRubric, Scores)

    threshold: float = Field(default=0.8, ge=0, le=1)
    """The share of the points from which an attempt passes, if every required criterion is met."""

    def check(self, task: Task, base_dir: Path) -> None:
        """Check the rubric that the row carries.

        Raises:
            ValueError: it does not have the form of one.
        """
        read_rubric(task)

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
