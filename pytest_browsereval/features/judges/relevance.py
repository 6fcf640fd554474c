"""Which of many pictures a judge looks at closely: all are rated first, small and in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from pydantic import Field, JsonValue

from pytest_browsereval.features.shared.judging.base import ModelGrader
from pytest_browsereval.features.shared.judging.judge import Given, Judge
from pytest_browsereval.features.shared.judging.pictures import Shown, load_pictures, sample_evenly
from pytest_browsereval.features.shared.judging.replies import JudgeReply
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.runs.folder import number_of

BATCH = 5
"""Pictures of one question."""

KEEP_LAST = 5
"""Pictures at the end of an attempt that are never left out before they are rated."""

RATE = read_prompts(__file__)["rate"]


class Rated(JudgeReply):
    """How much a picture helps."""

    picture: int = Field(description="The picture's number.")
    reason: str = Field(description="What it shows, in one sentence.")
    rating: int = Field(ge=1, le=5)


class Ratings(JudgeReply):
    """How much some pictures help."""

    pictures: tuple[Rated, ...]


@dataclass(frozen=True)
class Chosen:
    """The pictures that the judge looks at, and how they were chosen."""

    paths: list[Path]
    details: dict[str, JsonValue]


class LookingGrader(ModelGrader):
    """Base of graders that look at pictures."""

    sees_pictures: ClassVar[bool] = True

    max_pictures: int = Field(default=30, ge=5, le=500)
    """How many pictures are considered: spread evenly over the attempt, the last five among them."""
    relevance_threshold: int = Field(default=3, ge=1, le=5)
    """Where pictures are rated from 1 to 5, the lowest rating of one that is looked at closely."""
    max_shown: int = Field(default=10, ge=3, le=100)
    """How many pictures are looked at closely; where there are more, all are rated first."""

    async def choose_pictures(self, recorded: Recorded, judge: Judge, parts: Sequence[Given]) -> Chosen:
        """Return the pictures to look at.

        Args:
            recorded: the attempt.
            judge: rates them.
            parts: what it is given to rate them by.

        Raises:
            Fault: there are none, or some could not be rated: the best may be among these.
        """
        files = await asyncio.to_thread(load_pictures, recorded)
        sample = sample_evenly(files, self.max_pictures, keep_last=KEEP_LAST)
        details: dict[str, JsonValue] = {"pictures": len(files), "sampled": len(sample)}
        # Rating costs a question for each five pictures, which few pictures do not need.
        if len(sample) > self.max_shown:
            groups = [sample[start : start + BATCH] for start in range(0, len(sample), BATCH)]
            batches = await judge.ask_all(*(_rate(judge, parts, group) for group in groups))
            ratings = {rated.picture: rated.rating for batch in batches for rated in batch.pictures}
            numbers = pick_best(ratings, keep=self.relevance_threshold, most=self.max_shown)
            details["ratings"] = {str(number): rating for number, rating in ratings.items()}
            sample = [path for path in sample if number_of(path) in numbers]
        return Chosen(sample, {**details, "shown": [number_of(path) for path in sample]})


async def _rate(judge: Judge, parts: Sequence[Given], pictures: Sequence[Path]) -> Ratings:
    shown = [Shown(path, detail="low") for path in pictures]
    wanted = sorted(picture.number for picture in shown)

    def check(said: Ratings) -> None:
        numbers = sorted(rated.picture for rated in said.pictures)
        if numbers != wanted:
            raise GraderFault(f"the judge rated the pictures {numbers}, not {wanted}")

    return await judge.ask(Ratings, RATE, [*parts, *shown], call="rating of pictures", check=check)


def pick_best(ratings: Mapping[int, int], *, keep: int, most: int) -> list[int]:
    """Return the numbers of the pictures to look at: where fewer than three are kept, the best five of all.

    Args:
        ratings: by the picture's number.
        keep: the lowest rating that is kept.
        most: how many are kept; among equals the later ones.
    """
    # Later pictures first among equals: the end of an attempt tells more than its middle.
    order = sorted(ratings, key=lambda number: (-ratings[number], -number))
    kept = [number for number in order if ratings[number] >= keep][:most]
    return kept if len(kept) >= 3 else order[:5]
