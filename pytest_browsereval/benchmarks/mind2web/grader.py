"""``mind2web``: WebJudge, which gathers key points and telling pictures before it decides."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from pytest_browsereval.errors import Fault
from pytest_browsereval.features.shared.judging.base import ModelGrader, Opinion, give_answer, give_task
from pytest_browsereval.features.shared.judging.judge import Given, Judge, Part
from pytest_browsereval.features.shared.judging.pictures import Shown, evidence_of, load_pictures
from pytest_browsereval.features.shared.judging.replies import JudgeReply, Replies
from pytest_browsereval.features.shared.judging.steps import give_actions, join_lines, load_steps
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.model.grades import Criterion, Verdict
from pytest_browsereval.runs.folder import number_of

ARGUMENT_LIMIT = 400
"""Characters of each argument in the history of actions."""

TEXTS = read_prompts(__file__)
KEY_POINTS = TEXTS["key_points"]

PICTURE = TEXTS["picture"]

VERDICT = TEXTS["verdict"]

NO_PICTURES = """\
None of the recorded pictures was found to tell anything of the key points: decide by the actions alone."""


def _check_points(points: list[str]) -> list[str]:
    if not points or not all(point.strip() for point in points):
        raise ValueError("there is no key point, or an empty one")
    return points


class KeyPoints(JudgeReply):
    """What the judge replies when it reads the task."""

    reasoning: str = Field(description="What the task asks for, in your own words; written first.")
    key_points: Annotated[list[str], AfterValidator(_check_points)] = Field(
        description="The key points, in order."
    )


class PictureNote(JudgeReply):
    """What the judge replies about one picture."""

    reasoning: str = Field(description="What the picture shows of the key points; written first.")
    score: int = Field(ge=1, le=5, description="How much the picture helps to decide.")


class Finding(JudgeReply):
    """What the judge finds of one key point."""

    key_point: int = Field(description="The number of the key point.")
    reasoning: str = Field(description="What actions and pictures show of it; written before the finding.")
    finding: Literal["met", "missed"] = Field(description="Whether the key point is met.")


class WebJudgeReply(JudgeReply):
    """What the judge replies in the end."""

    findings: list[Finding] = Field(description="One for each key point, in order.")
    reasoning: str = Field(description="What decides, in a few sentences.")
    status: Literal["success", "failure"] = Field(
        description="success if every key point is met, failure if one or more is missed."
    )

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
        # A finding that is left out would count as met.
        if [finding.key_point for finding in self.findings] != list(range(1, len(self.findings) + 1)):
            raise ValueError("findings are not numbered from 1, one for each key point")
        missed = [finding.key_point for finding in self.findings if finding.finding == "missed"]
        if (self.status == "success") == bool(missed):
            raise ValueError(f"the status is {self.status}, and the key points missed are {missed}")
        return self


@dataclass(frozen=True)
class _Prepared:
    """What all votes begin with."""

    key_points: list[str]
    noted: list[tuple[Path, PictureNote]]
    """Pictures with what the judge made of them."""
    missing: list[Path]
    """Pictures that the judge did not score."""
    kept: list[tuple[Path, PictureNote]]
    actions: Given


class Mind2WebGrader(ModelGrader):
    """WebJudge of Online-Mind2Web: key points, a score for every picture, then the verdict.

    It takes two questions and one for each picture. A picture whose question fails is missing evidence and
    gets no score: with too many of them the grade is errored, and with any of them a failure is *undecided*,
    since the missing picture may show what was missed.
    """

    type: Literal["mind2web"] = "mind2web"
    sees_pictures: ClassVar[bool] = True
    prompts: ClassVar[tuple[str, ...]] = (KEY_POINTS, PICTURE, VERDICT, NO_PICTURES)
    replies: ClassVar[Replies] = (KeyPoints, PictureNote, WebJudgeReply)

    threshold: int = Field(default=3, ge=1, le=5)
    """Pictures with this score or a higher one are shown for the verdict."""
    max_pictures: int = Field(default=50, ge=1)
    """If there are more such pictures, the last ones are shown, as in the published rule."""
    max_missing: float = Field(default=0.1, ge=0, le=1)
    """The share of pictures that may be without a score."""

    async def prepare(self, recorded: Recorded, judge: Judge) -> _Prepared:
        """Ask for the key points, then for a note on each picture, all at once.

        Raises:
            Fault: no actions or pictures were recorded, there are no key points, or too few pictures could
                be scored.
        """
        pictures = await asyncio.to_thread(load_pictures, recorded)
        steps = await asyncio.to_thread(load_steps, recorded)
        reply = await judge.ask(KeyPoints, KEY_POINTS, [give_task(recorded)], call="key points")
        points = _points_part(reply.key_points)
        notes = await judge.gather(*(self._note(recorded, judge, points, picture) for picture in pictures))
        pairs = list(zip(pictures, notes, strict=True))
        noted = [(path, note) for path, note in pairs if not isinstance(note, Fault)]
        faults = [note for note in notes if isinstance(note, Fault)]
        # A picture whose question failed shows nothing; with 3 points it would count as if it had been seen.
        if len(faults) > self.max_missing * len(pictures):
            message = f"{len(faults)} of {len(pictures)} pictures could not be scored; the first: {faults[0]}"
            raise GraderFault(message)
        return _Prepared(
            key_points=reply.key_points,
            noted=noted,
            missing=[path for path, note in pairs if isinstance(note, Fault)],
            # The last ones, as WebJudge has it: the end decides.
            kept=[pair for pair in noted if pair[1].score >= self.threshold][-self.max_pictures :],
            actions=give_actions(steps, argument=ARGUMENT_LIMIT),
        )

    async def _note(self, recorded: Recorded, judge: Judge, points: Given, picture: Path) -> PictureNote:
        parts: list[Part] = [give_task(recorded), points, Shown(picture)]
        return await judge.ask(PictureNote, PICTURE, parts, call=f"score of picture {number_of(picture)}")

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: _Prepared) -> Opinion:
        """Ask for the verdict.

        Raises:
            Fault: the judge gave none, or one that leaves out key points.
        """
        rules = VERDICT if prepared.kept else f"{VERDICT}\n\n{NO_PICTURES}"
        parts: list[Part] = [
            give_task(recorded),
            _points_part(prepared.key_points),
            prepared.actions,
            give_answer(recorded),
        ]
        for path, note in prepared.kept:
            parts += [Given(f"note on picture {number_of(path)}", note.reasoning), Shown(path)]

        def check(reply: WebJudgeReply) -> None:
            if len(reply.findings) != len(prepared.key_points):
                message = f"it has {len(reply.findings)} findings for {len(prepared.key_points)} key points"
                raise GraderFault(message)

        reply = await judge.ask(WebJudgeReply, rules, parts, check=check)
        missing = [number_of(path) for path in prepared.missing]
        opinion = Opinion.yes_or_no(
            reply.status == "success",
            reply.reasoning,
            criteria=tuple(
                Criterion(
                    name=point,
                    verdict=Verdict.PASSED if finding.finding == "met" else Verdict.FAILED,
                    reason=finding.reasoning,
                )
                for point, finding in zip(prepared.key_points, reply.findings, strict=True)
            ),
            evidence=evidence_of([path for path, _ in prepared.kept]),
            details={
                "key_points": list(prepared.key_points),
                "pictures_scored": len(prepared.noted),
                "pictures_kept": len(prepared.kept),
                "pictures_without_score": missing,
                "scores": {str(number_of(path)): note.score for path, note in prepared.noted},
            },
        )
        # A pass stands: what was seen proves it. A failure does not, for one of these may show the contrary.
        if opinion.verdict != "failed" or not missing:
            return opinion
        names = ", ".join(map(str, missing))
        why = f"it would be a failure, but these pictures could not be scored: {names}. {opinion.reasoning}"
        return replace(opinion, verdict="undecided", reasoning=why)


def _points_part(points: Sequence[str]) -> Given:
    numbered = (f"{number}. {join_lines(point)}" for number, point in enumerate(points, 1))
    return Given("key points", "\n".join(numbered))
