"""``webvoyager``: a model looks at the last pictures and the answer, and says whether the task is done."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field

from pytest_browsereval.features.shared.judging.base import (
    ModelGrader,
    Opinion,
    fail_unanswered,
    give_answer,
    give_reference,
    give_task,
)
from pytest_browsereval.features.shared.judging.judge import Judge, Part
from pytest_browsereval.features.shared.judging.pictures import Shown, evidence_of, load_pictures
from pytest_browsereval.features.shared.judging.replies import JudgeReply, Replies
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.runs.folder import find_pictures

TEXTS = read_prompts(__file__)
RULES = TEXTS["rules"]

EXPECTED = TEXTS["expected"]

POSSIBLE = TEXTS["possible"]


class WebVoyagerReply(JudgeReply):
    """What the judge replies."""

    reasoning: str = Field(
        description="For each part of the task, what the pictures and the answer show of it; written first."
    )
    verdict: Literal["success", "not_success"] = Field(
        description="success if every part of the task is done, else not_success."
    )


class WebVoyagerGrader(ModelGrader):
    """Asks a model once: task, answer, last pictures and, if the row has one, the reference answer.

    An attempt without a final answer fails without a question, as the rule was published. A row whose
    ``metadata.additional.answer_type`` is *possible* has a reference that is one of many.
    """

    type: Literal["webvoyager"] = "webvoyager"
    sees_pictures: ClassVar[bool] = True
    prompts: ClassVar[tuple[str, ...]] = (RULES, EXPECTED, POSSIBLE)
    replies: ClassVar[Replies] = (WebVoyagerReply,)

    pictures: int = Field(default=15, ge=1)
    """How many of the last pictures the judge sees."""

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that a row which says what its reference answer is has one.

        Raises:
            ValueError: with what to write.
        """
        kind = task.metadata.additional.get("answer_type")
        if kind is not None and give_reference(task) is None:
            how = 'Write "answer": "..." in the row, or remove the answer_type'
            raise ValueError(f"the row's answer_type is {kind!r}, but it has no answer. {how}.")

    async def decide_without_model(self, recorded: Recorded) -> Opinion | None:
        """Fail an attempt that gave no answer.

        Raises:
            Fault: no picture was recorded, or one is gone.
        """
        if (settled := fail_unanswered(recorded)) is not None:
            return settled
        await asyncio.to_thread(load_pictures, recorded)
        return None

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: Any) -> Opinion:
        """Ask for the verdict.

        Raises:
            Fault: the judge gave none.
        """
        found = await asyncio.to_thread(find_pictures, recorded.folder)
        last = found[-self.pictures :]
        reference = give_reference(recorded.task)
        parts: list[Part] = [give_task(recorded), give_answer(recorded), *map(Shown, last)]
        rules = RULES
        if reference is not None:
            # With the task, as the rules name them together.
            parts.insert(1, reference)
            is_possible = recorded.task.metadata.additional.get("answer_type") == "possible"
            rules = f"{RULES}\n\n{POSSIBLE if is_possible else EXPECTED}"
        reply = await judge.ask(WebVoyagerReply, rules, parts)
        return Opinion.yes_or_no(
            reply.verdict == "success",
            reply.reasoning,
            evidence=evidence_of(last),
            details={
                "is_answered": True,
                "pictures_recorded": len(found),
                "pictures_shown": len(last),
                "has_reference": reference is not None,
            },
        )
