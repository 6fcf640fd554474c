"""Verification by texts alone: do the actions and the answer fit the task?"""

from __future__ import annotations

import asyncio
from typing import ClassVar, Literal

from pydantic import Field

from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.graders.judging.actions import give_actions, load_steps
from pytest_browsereval.graders.judging.base import ModelGrader, give_answer, give_task
from pytest_browsereval.graders.judging.judge import Judge
from pytest_browsereval.graders.judging.replies import JudgeReply, Replies
from pytest_browsereval.graders.judging.votes import Opinion

RULES = """\
You verify the work of an agent that was given a task in a web browser. You are given the task, its \
actions as they were recorded (tool, arguments, whether it failed, the page's address) and its final \
answer. You see no pictures. Look at four things:
1. Intent: did the agent do what the task asks for, and not something that only resembles it?
2. Target: was it done on the right site, to the right object, with every limit that the task states \
(dates, amounts, names, order)?
3. Relevance: does the answer tell what was asked for, in full?
4. Accuracy: do the recorded actions bear the answer out? An action that failed reached nothing, and what \
the answer claims without an action that could have led to it is not borne out.
The verdict is PASS if all four hold, and FAIL if one does not or if you cannot tell. Detours that were \
put right do not count against the agent. A task that only has something done needs no more of an answer \
than that it was done."""


class Alignment(JudgeReply):
    """What the judge says."""

    reasoning: str = Field(description="The four things in turn, with the actions that they rest on.")
    verdict: Literal["PASS", "FAIL"]


class FaraAlignmentGrader(ModelGrader):
    """Asks by texts alone whether the actions and the answer fit the task."""

    type: Literal["fara_alignment"] = "fara_alignment"
    prompts: ClassVar[tuple[str, ...]] = (RULES,)
    replies: ClassVar[Replies] = (Alignment,)

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: object) -> Opinion:
        """Return one vote.

        Raises:
            Fault: no actions were recorded, or the judge cannot be asked.
        """
        steps = await asyncio.to_thread(load_steps, recorded)
        # Nothing to read, so no question is paid for.
        if not steps and not (recorded.final_answer or "").strip():
            return Opinion("failed", 0.0, "the agent did nothing and answered nothing")
        parts = [give_task(recorded), give_actions(steps), give_answer(recorded)]
        said = await judge.ask(Alignment, RULES, parts)
        return Opinion.yes_or_no(said.verdict == "PASS", said.reasoning, details={"actions": len(steps)})
