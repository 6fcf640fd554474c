"""A small grader that asks a model, and a model that replies in the form that it is asked for."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal

from PIL import Image
from pydantic import Field

from pytest_browsereval.features.shared.judging.base import ModelGrader, Opinion, give_answer, give_task
from pytest_browsereval.features.shared.judging.judge import Judge, Part
from pytest_browsereval.features.shared.judging.pictures import Shown
from pytest_browsereval.features.shared.judging.replies import JudgeReply
from pytest_browsereval.graders.base import GraderConfig, Recorded
from pytest_browsereval.llm.client import close_clients
from pytest_browsereval.llm.judge import JudgeConfig
from pytest_browsereval.model.grades import GraderResult
from pytest_browsereval.runs.folder import find_pictures
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, says
from tests.graders.support import make_recorded, make_task

RULES = "Say whether the answer is right."


class Said(JudgeReply):
    """What the judge replies."""

    reasoning: str = Field(description="Why, in a sentence.")
    verdict: Literal["yes", "no", "unsure"]
    points: int = Field(default=..., ge=0, le=10)


class AskingGrader(ModelGrader):
    """Asks one question a vote."""

    type: Literal["asking"] = "asking"
    prompts: ClassVar[tuple[str, ...]] = (RULES,)

    pictures: int = 0

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: Any) -> Opinion:
        shown = [Shown(path) for path in find_pictures(recorded.folder)[: self.pictures]]
        parts: list[Part] = [give_task(recorded), give_answer(recorded), *shown]
        said = await judge.ask(Said, RULES, parts)
        verdict: Any = {"yes": "passed", "no": "failed", "unsure": "undecided"}[said.verdict]
        return Opinion(verdict, said.points / 10, said.reasoning)


def verdict(word: str = "yes", points: Any = 10, reasoning: str = "because") -> dict[str, Any]:
    return {"reasoning": reasoning, "verdict": word, "points": points}


def in_form(request: ModelRequest, value: Any) -> Reply:
    """Return a value as the reply that a request asks for."""
    text = json.dumps(value)
    if "response_format" not in request.body:
        nonce = nonce_of(request)
        text = f"I thought about it.\n<reply-{nonce}>{text}</reply-{nonce}>"
    return says(text)


def nonce_of(request: ModelRequest) -> str:
    """Return the code that stands in the marks of a request."""
    found = re.search(r"\[end of facts (\w+)\]", request.text)
    assert found is not None
    return found[1]


def judge_at(model: ScriptedModel, **fields: Any) -> JudgeConfig:
    given = {"model": "scripted", "base_url": model.base_url, "api_key": "none", "max_tries": 1, **fields}
    return JudgeConfig.model_validate(given)


def recorded_in(folder: Path, answer: str | None = "42", **fields: Any) -> Recorded:
    task = make_task(query="How much is it?", start_url="http://shop.test/", **fields.pop("row", {}))
    more = {"started_at": "2025-03-01T10:00:00.000Z", **fields}
    return make_recorded(task, folder=folder, final_answer=answer, **more)


def picture(folder: Path, number: int, size: tuple[int, int] = (40, 30), suffix: str = "png") -> Path:
    path = folder / "screenshots" / f"{number:03d}.{suffix}"
    path.parent.mkdir(exist_ok=True)
    Image.new("RGB", size, (number % 256, 0, 0)).save(path)
    return path


def graded(grader: GraderConfig, recorded: Recorded) -> GraderResult:
    """Let a grader judge on a loop of its own."""

    async def course() -> GraderResult:
        try:
            return await grader.grade(recorded)
        finally:
            await close_clients()

    return asyncio.run(course())


def ask(folder: Path, *script: Reply | str, **fields: Any) -> tuple[GraderResult, list[ModelRequest]]:
    """Return the grade by a judge with this script, and what it was asked."""
    with ScriptedModel(list(script)) as model:
        result = graded(AskingGrader(judge=judge_at(model, **fields)), recorded_in(folder))
        model.assert_finished()
    return result, model.requests


def text(value: Any) -> str:
    return json.dumps(value)


Script = Callable[[ModelRequest], Reply]
