"""``llm``: a judge with a prompt of one's own."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from pytest_browsereval.browsers.base import Window
from pytest_browsereval.errors import nearest
from pytest_browsereval.features.shared.judging.base import (
    ModelGrader,
    Opinion,
    give_answer,
    give_reference,
    give_task,
)
from pytest_browsereval.features.shared.judging.judge import Given, Judge, Part
from pytest_browsereval.features.shared.judging.pictures import (
    Shown,
    evidence_of,
    load_pictures,
    sample_evenly,
)
from pytest_browsereval.features.shared.judging.replies import JudgeReply, Replies
from pytest_browsereval.features.shared.judging.steps import give_actions, load_steps
from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.graders.observing import live_page
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import Needs
from pytest_browsereval.runs.folder import number_of

RULES = """\
You judge how an agent that works in a web browser did a task. The next message says how to judge; it was \
written by the author of the task. Judge by what you are shown alone."""

OF_ATTEMPT = ("answer", "page_text", "page_url", "steps")
OF_ROW = ("query", "reference", "rubric")
PLACEHOLDERS = (*OF_ROW, *OF_ATTEMPT)
"""What a prompt may have in braces."""

MOST_PICTURES = 30
"""What ``pictures: all`` shows of a longer attempt, spread evenly; the last one is always among them."""

EXAMPLE = '`{type: llm, prompt: "The task: {query} The answer: {answer} Pass only if ...", pictures: last}`'

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")


class Ruling(JudgeReply):
    """What the judge replies on the scale ``pass``."""

    reasoning: str = Field(description="Why, in one to three sentences.")
    verdict: Literal["PASS", "FAIL", "CANNOT_TELL"] = Field(
        description="CANNOT_TELL only where what you are shown does not let you decide."
    )


class Share(JudgeReply):
    """What the judge replies on the scale ``0-1``."""

    reasoning: str = Field(description="Why, in one to three sentences.")
    score: float = Field(ge=0, le=1, description="From 0, the worst, to 1, the best.")


class Rating(JudgeReply):
    """What the judge replies on the scale ``1-5``."""

    reasoning: str = Field(description="Why, in one to three sentences.")
    score: int = Field(ge=1, le=5, description="A whole number from 1, the worst, to 5, the best.")


_NUMBERS: Mapping[str, tuple[type[Share | Rating], float, float, float]] = {
    "0-1": (Share, 0, 1, 0.7),
    "1-5": (Rating, 1, 5, 4),
}
"""By scale of numbers: the reply, the lowest and the highest limit, and the default."""


class LLMGrader(ModelGrader):
    """Asks a model with your own prompt, with words in braces filled in: ``{query}``, ``{answer}``."""

    type: Literal["llm"] = "llm"
    prompts: ClassVar[tuple[str, ...]] = (RULES,)
    replies: ClassVar[Replies] = (Ruling, Share, Rating)

    prompt: str = Field(default="", validate_default=True)
    """How to judge. Of the row: ``{query}``, ``{reference}`` (its ``answer``), ``{rubric}``; of the attempt:
    ``{answer}``, ``{page_text}`` and ``{page_url}`` at the end, ``{steps}``. Each is put between marks."""
    pictures: Literal["last", "all", "none"] = "last"
    """Which pictures of the page the judge sees; ``all`` shows up to 30, spread evenly."""
    scale: Literal["pass", "0-1", "1-5"] = "pass"
    """What it replies: ``PASS`` or ``FAIL``, a number from 0 to 1, or a whole number from 1 to 5."""
    pass_at: float | None = Field(default=None, validate_default=True)
    """The lowest number that passes, 0.7 or 4 by default."""

    @field_validator("prompt")
    @classmethod
    def _names_are_known(cls, prompt: str) -> str:
        if not prompt.strip():
            raise ValueError(f"the grader llm has no prompt. Write one, such as {EXAMPLE}")
        for name in _PLACEHOLDER.findall(prompt):
            if name not in PLACEHOLDERS:
                known = ", ".join(f"{{{one}}}" for one in PLACEHOLDERS)
                raise ValueError(
                    f"the prompt has {{{name}}}, which is not a placeholder.{nearest(name, PLACEHOLDERS)} "
                    f"Known: {known}. Other words need no braces."
                )
        return prompt

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.pictures == "none" and not self._names & {*OF_ATTEMPT}:
            raise ValueError(
                "the prompt shows the judge nothing of the attempt. Write {answer}, {page_text}, {page_url} "
                "or {steps} in it, or `pictures: last`"
            )
        if self.pass_at is None:
            return self
        if self.scale == "pass":
            raise ValueError("pass_at needs a scale of numbers. Write `scale: 0-1` or `scale: 1-5` too")
        _, low, high, _ = _NUMBERS[self.scale]
        if not low <= self.pass_at <= high:
            write = f"on the scale {self.scale} write {low:g} to {high:g}"
            raise ValueError(f"pass_at is {self.pass_at:g}; {write}")
        return self

    @property
    def _names(self) -> set[str]:
        return {*_PLACEHOLDER.findall(self.prompt)}

    @property
    def sees_pictures(self) -> bool:
        """Whether its judge is shown the recorded pictures."""
        return self.pictures != "none"

    def needs(self, task: Task) -> Needs:
        """Return that it asks its judge, and whether it reads the page."""
        return replace(super().needs(task), page="page_text" in self._names, observes=None)

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that the row has what the prompt shows of it.

        Raises:
            ValueError: with what to write.
        """
        for name, key, value in (("reference", "answer", task.answer), ("rubric", "rubric", task.rubric)):
            if name in self._names and value in (None, "", [], {}):
                raise ValueError(
                    f"the prompt of the grader {self.label!r} shows {{{name}}}, but the row has no {key!r}. "
                    f"Give the row one, or leave {{{name}}} out."
                )

    async def observe(self, window: Window, task: Task, site_urls: Mapping[str, str]) -> JsonValue:
        """Read the text of the final page, if the prompt shows it.

        Raises:
            Fault: the page cannot be read.
        """
        if "page_text" not in self._names:
            return None
        async with live_page(window) as page:
            return {"page_text": await page.text()}

    async def prepare(self, recorded: Recorded, judge: Judge) -> list[Part]:
        """Return the prompt with what stands in braces filled in, and the pictures.

        Raises:
            Fault: something that it shows was not recorded.
        """
        # Names of sites were filled in before: what stood in the braces is not there any more.
        if taken := {*PLACEHOLDERS} & {*recorded.site_urls}:
            raise GraderFault(f"a site has the name {min(taken)!r}, which llm prompts use. Rename the site")
        return [part for part in await asyncio.to_thread(lambda: [*self._fill(recorded)]) if part]

    def _fill(self, recorded: Recorded) -> Iterator[Part]:
        for place, text in enumerate(_PLACEHOLDER.split(self.prompt)):
            yield self._give(text, recorded) if place % 2 else text
        if self.pictures == "none":
            return
        found = load_pictures(recorded, else_write="`pictures: none` to judge texts only")
        for path in sample_evenly(found, 1 if self.pictures == "last" else MOST_PICTURES):
            yield Shown(path)

    def _give(self, name: str, recorded: Recorded) -> Given:
        task = recorded.task
        makers: dict[str, Callable[[], Given]] = {
            "query": lambda: give_task(recorded),
            "answer": lambda: give_answer(recorded),
            "reference": lambda: give_reference(task) or Given("reference answer", ""),
            "rubric": lambda: Given("rubric", _write(task.rubric)),
            "steps": lambda: give_actions(load_steps(recorded), results=True),
            "page_url": lambda: Given("address of the final page", recorded.final_url or "(none)"),
            "page_text": lambda: self._give_page(recorded),
        }
        return makers[name]()

    def _give_page(self, recorded: Recorded) -> Given:
        seen = recorded.get_evidence(self.label, "page_text", "the text of the final page")
        cut = "\n[cut: the page has more text]" if seen["cut"] else ""
        return Given("text of the final page", seen["value"] + cut)

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: list[Part]) -> Opinion:
        """Return one vote.

        Raises:
            Fault: the judge cannot be asked.
        """
        shown = [part.path for part in prepared if isinstance(part, Shown)]
        details: dict[str, JsonValue] = {"scale": self.scale, "shown": [*map(number_of, shown)]}
        evidence = evidence_of(shown)
        if self.scale == "pass":
            said = await judge.ask(Ruling, RULES, prepared)
            if said.verdict == "CANNOT_TELL":
                why = f"the judge cannot tell: {said.reasoning}"
                return Opinion("undecided", 0.0, why, evidence=evidence, details=details)
            passes = said.verdict == "PASS"
            return Opinion.yes_or_no(passes, said.reasoning, evidence=evidence, details=details)
        reply, low, high, default = _NUMBERS[self.scale]
        limit = default if self.pass_at is None else self.pass_at
        rated = await judge.ask(reply, RULES, prepared, call="score")
        return Opinion(
            "passed" if rated.score >= limit else "failed",
            round((rated.score - low) / (high - low), 6),
            f"{rated.score:g} on the scale {self.scale} (needs {limit:g}). {rated.reasoning}",
            evidence=evidence,
            details=details | {"number": rated.score, "pass_at": limit},
        )


def _write(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
