"""``browsecomp``: a model says whether the agent's answer means the same as the row's reference answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from pytest_browsereval.features.shared.judging.base import (
    ModelGrader,
    Opinion,
    fail_unanswered,
    give_answer,
    give_reference,
    give_task,
)
from pytest_browsereval.features.shared.judging.judge import Judge
from pytest_browsereval.features.shared.judging.replies import JudgeReply, Replies
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.graders.values import clip
from pytest_browsereval.model.grades import Criterion, Verdict
from pytest_browsereval.model.tasks import Task

RULES = read_prompts(__file__)["rules"]


class BrowseCompReply(JudgeReply):
    """What the judge replies."""

    reasoning: str = Field(description="How the two answers agree or differ; written first.")
    stated_answer: str = Field(
        description="The answer that the text commits itself to, in its own words; empty if there is none."
    )
    is_same: bool = Field(description="Whether the stated answer means the same as the reference.")

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        # Otherwise a judge could pass an answer that says "I do not know".
        if self.is_same and not self.stated_answer.strip():
            raise ValueError("no answer is stated, and yet it is the same as the reference")
        return self


class BrowseCompGrader(ModelGrader):
    """Asks a model whether the final answer and the row's ``answer`` mean the same; it sees texts only.

    An attempt without a final answer fails without a question.
    """

    type: Literal["browsecomp"] = "browsecomp"
    prompts: ClassVar[tuple[str, ...]] = (RULES,)
    replies: ClassVar[Replies] = (BrowseCompReply,)

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that the row has a reference answer.

        Raises:
            ValueError: with what to write.
        """
        if give_reference(task) is None:
            raise ValueError(f'{self.label}: the row has no answer to compare with. Write "answer": "...".')

    async def decide_without_model(self, recorded: Recorded) -> Opinion | None:
        """Fail an attempt that gave no answer."""
        return fail_unanswered(recorded)

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: Any) -> Opinion:
        """Ask for the verdict.

        Raises:
            Fault: the judge gave none.
        """
        reference = give_reference(recorded.task)
        if reference is None:
            raise GraderFault("the row has no reference answer to compare with")
        parts = [give_task(recorded), reference, give_answer(recorded)]
        reply = await judge.ask(BrowseCompReply, RULES, parts)
        criterion = Criterion(
            name="answer",
            verdict=Verdict.PASSED if reply.is_same else Verdict.FAILED,
            expected=clip(recorded.task.answer),
            actual=clip(recorded.final_answer),
        )
        details = {"is_answered": True, "stated_answer": reply.stated_answer}
        return Opinion.yes_or_no(reply.is_same, reply.reasoning, criteria=(criterion,), details=details)
