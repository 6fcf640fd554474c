"""``webarena``: WebArena's evaluators of answer, address and page, and VisualWebArena's of pictures."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, JsonValue

from pytest_browsereval.benchmarks.webarena.pages import observe
from pytest_browsereval.benchmarks.webarena.rules import (
    Item,
    Question,
    Rules,
    Target,
    address_item,
    answer_items,
    criterion,
    page_items,
    read_rules,
)
from pytest_browsereval.browsers.base import Window
from pytest_browsereval.features.shared.judging.base import ModelGrader, Opinion, give_task
from pytest_browsereval.features.shared.judging.judge import Given, Judge, Part
from pytest_browsereval.features.shared.judging.pictures import Shown
from pytest_browsereval.features.shared.judging.replies import JudgeReply
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.graders.criteria import list_failed
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import TIMEOUT_S, Needs
from pytest_browsereval.redaction.known import beginning

PICTURES = "pictures"
"""The folder of an attempt with the pictures that the judge was asked about."""

TEXTS = read_prompts(__file__)
SAME = TEXTS["same"]

REASON = TEXTS["reason"]

PICTURE = TEXTS["picture"]


RULES_S = 60.0
"""For what is compared without the judge, besides the judge's own time."""


class SameReply(JudgeReply):
    """What the judge replies about a text."""

    reasoning: str = Field(description="What the reference and the text say, point by point; written first.")
    says_the_same: bool = Field(description="Whether the text says what the reference says.")


class ReasonReply(JudgeReply):
    """What the judge replies about a task that cannot be achieved."""

    reasoning: str = Field(description="What the known reason is and what the answer gives; written first.")
    gives_the_reason: bool = Field(description="Whether the answer gives the known reason.")


class PictureReply(JudgeReply):
    """What the judge replies about pictures."""

    reasoning: str = Field(description="What the pictures show of what is asked; written first.")
    is_right: bool = Field(description="Whether the expected answer is right for one of the pictures.")


_FORMS: dict[str, tuple[type[SameReply | ReasonReply | PictureReply], str, str]] = {
    "same": (SameReply, SAME, "says_the_same"),
    "reason": (ReasonReply, REASON, "gives_the_reason"),
    "picture": (PictureReply, PICTURE, "is_right"),
}
"""By the kind of a question: how the judge replies, its rules, and the field of the reply that decides."""


class WebArenaGrader(ModelGrader):
    """Scores a row of WebArena, VisualWebArena or WebChoreArena by its ``evals``; all have to hold.

    A model is asked for ``fuzzy_match`` and questions about pictures only, and only where all else holds.
    """

    type: Literal["webarena"] = "webarena"
    prompts: ClassVar[tuple[str, ...]] = (SAME, REASON, PICTURE)
    replies = (SameReply, ReasonReply, PictureReply)

    wait_s: float = Field(default=3.0, ge=0, le=10)
    """How long to look again while checks do not hold: the last click may still take effect."""

    # -- what a row needs

    def check(self, task: Task, base_dir: Path) -> None:
        """Check that the row's ``evals`` are WebArena's, and that they can be judged.

        Raises:
            ValueError: with what is wrong.
        """
        if not read_rules(task.evals):
            how = "as in rows that `dataset: {type: webarena}` reads"
            raise ValueError(f"the grader {self.label!r} needs `evals`, {how}.")

    def needs(self, task: Task) -> Needs:
        """Return what the row looks at, and its judge where it has something that only a model can say."""
        try:
            blocks = read_rules(task.evals)
        except ValueError:  # `check` says what is wrong with them
            return Needs(observes=None)
        asks_model = any(rules.asks_model for rules in blocks)
        has_pages = _has_pages(blocks)
        places: JsonValue = [
            {
                "targets": [[target.url, target.locator, *target.prep_actions] for target in rules.targets],
                "pictures": [[asked.eval_image_url, asked.eval_image_class] for asked in rules.pictures],
            }
            for rules in blocks
        ]
        return Needs(
            page=has_pages,
            models=super().needs(task).models if asks_model else (),
            observes=places if has_pages else None,
            seconds=RULES_S if asks_model else TIMEOUT_S,
        )

    # -- the pages

    async def observe(self, window: Window, task: Task, site_urls: Mapping[str, str]) -> JsonValue:
        """Read the parts of pages and the pictures that the row looks at.

        Raises:
            Fault: a page cannot be opened or read.
        """
        blocks = read_rules(task.evals)
        return await observe(window, blocks, _holds, self.wait_s) if _has_pages(blocks) else None

    # -- the grade

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Compare, and ask a judge where the row has something for one and all else holds.

        Raises:
            Fault: the pages were not observed.
            StopRun: the judge's provider refused the key.
        """
        items = self._items(recorded)
        settled = [item for item in items if isinstance(item, Criterion)]
        # All have to hold: once one has failed, a judge could change nothing and would cost money.
        if len(settled) < len(items) and all(item.verdict is Verdict.PASSED for item in settled):
            return await super().grade(recorded)
        # With the judge's fingerprint, so that it compares with attempts that the judge was asked about.
        judge = (self.judge or recorded.judge) if self.needs(recorded.task).models else None
        return self.grade_by_rules(_opinion(settled, not_asked=len(items) - len(settled)), recorded, judge)

    def _items(self, recorded: Recorded) -> list[Item]:
        items: list[Item] = []
        pictures = 0
        for rules, parts in zip(read_rules(recorded.task.evals), self._seen(recorded), strict=True):
            items += answer_items(rules, recorded.final_answer)
            if "url_match" in rules.eval_types:
                items.append(address_item(rules, recorded.final_url))
            for target, part in zip(rules.targets, parts.get("targets", ()), strict=True):
                items += page_items(rules, target, part["value"])
            for asked, drawn in zip(rules.pictures, parts.get("pictures", ()), strict=True):
                for qa in asked.eval_vqa:
                    name = beginning(f"picture {qa.question}", 160)
                    if drawn:
                        items.append(Question(name, "picture", qa.answer, about=qa.question, target=pictures))
                    else:
                        items.append(criterion(name, qa.answer, None, "the page shows no such picture"))
                pictures += 1
        return items

    def _seen(self, recorded: Recorded) -> Sequence[Mapping[str, Any]]:
        """Return what was observed by each block of rules; nothing where none looks at a page."""
        blocks = read_rules(recorded.task.evals)
        if not _has_pages(blocks):
            return [{}] * len(blocks)
        found: list[Mapping[str, Any]] = recorded.get_evidence(self.label, "rules", "what the pages show")
        return found

    async def prepare(self, recorded: Recorded, judge: Judge) -> tuple[list[Item], list[list[Shown]]]:
        """Return what is to be said, and the pictures as files.

        Raises:
            Fault: the judge cannot see, and there are pictures.
        """
        drawn = [group for parts in self._seen(recorded) for group in parts.get("pictures", ())]
        if drawn and not judge.config.traits.has_images:
            message = f"the row asks about pictures, which {judge.config.provider!r} does not take"
            raise GraderFault(f"{message}. Give the grader a `judge` of another provider")
        return self._items(recorded), await asyncio.to_thread(self._files, recorded.folder / PICTURES, drawn)

    def _files(self, folder: Path, drawn: list[list[str]]) -> list[list[Shown]]:
        shown: list[list[Shown]] = []
        for place, group in enumerate(drawn, 1):
            folder.mkdir(exist_ok=True)
            files = [folder / f"{self.label}-{place}-{number}.jpeg" for number in range(1, len(group) + 1)]
            for file, text in zip(files, group, strict=True):
                # As files, so that people see in the report what the judge saw.
                file.write_bytes(base64.b64decode(text))
            shown.append([Shown(file, f"Picture {number}:") for number, file in enumerate(files, 1)])
        return shown

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: Any) -> Opinion:
        """Ask about everything that only a model can say.

        Raises:
            Fault: the judge gave no verdict.
        """
        items, pictures = prepared
        criteria: list[Criterion] = []
        for number, item in enumerate(items, 1):
            if isinstance(item, Question):
                shown = pictures[item.target] if item.kind == "picture" else []
                criteria.append(await self._ask(item, f"verdict {number}", recorded, judge, shown))
            else:
                criteria.append(item)
        return _opinion(criteria)

    async def _ask(
        self, item: Question, call: str, recorded: Recorded, judge: Judge, shown: Sequence[Shown]
    ) -> Criterion:
        form, rules, field = _FORMS[item.kind]
        parts: list[Part]
        if item.kind == "picture":
            parts = [Given("question", item.about), Given("expected answer", item.expected), *shown]
        elif item.kind == "reason":
            reason = Given("known reason", item.expected or "(not known)")
            parts = [give_task(recorded), reason, Given("answer", item.actual)]
        else:
            parts = [give_task(recorded), Given("reference", item.expected), Given("text", item.actual)]
        reply = await judge.ask(form, rules, parts, call=call)
        # A criterion passes where there is no problem, and a judge may say no without a reason.
        problem = "" if getattr(reply, field) else reply.reasoning or "the judge gave no reason"
        return criterion(item.name, item.expected, item.about or item.actual, problem)


def _has_pages(blocks: Sequence[Rules]) -> bool:
    return any(rules.targets or rules.pictures for rules in blocks)


def _holds(rules: Rules, target: Target, value: Any) -> bool:
    items = list(page_items(rules, target, value))
    return all(isinstance(item, Question) or item.verdict is Verdict.PASSED for item in items)


def _opinion(criteria: Sequence[Criterion], *, not_asked: int = 0) -> Opinion:
    failed = list_failed(criteria)
    lines = [f"{len(criteria) - len(failed)} of {len(criteria) + not_asked} checks passed"]
    lines += [f"{one.name}: {one.reason}" for one in failed]
    if not_asked:
        lines.append(f"a model was not asked about {not_asked} more")
    return Opinion.yes_or_no(not failed, "; ".join(lines), criteria=tuple(criteria))
