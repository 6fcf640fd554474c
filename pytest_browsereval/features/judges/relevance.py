"""Which of many pictures a judge looks at closely: all are rated first, small and in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from pydantic import Field

from pytest_browsereval.errors import Fault
from pytest_browsereval.features.shared.judging.judge import Given, Judge
from pytest_browsereval.features.shared.judging.pictures import Shown
from pytest_browsereval.features.shared.judging.replies import JudgeReply
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.runs.folder import number_of

BATCH = 5
"""Pictures of one question."""

SCALE = """\
5: it shows on its own whether the thing was reached; 4: it shows an essential part of it; 3: it shows \
something that helps to decide; 2: it is on the way, and decides nothing; 1: it has nothing to do with it."""

TEXTS = read_prompts(__file__)
RATE = TEXTS["rate"] + SCALE

MATCH = TEXTS["match"] + SCALE


class About(JudgeReply):
    """What a judge says of one picture."""

    picture: int = Field(description="The picture's number.")


class Batch(JudgeReply):
    """What a judge says of some pictures."""

    pictures: tuple[About, ...]


class Rated(About):
    """How much a picture helps."""

    reason: str = Field(description="What it shows, in one sentence.")
    rating: int = Field(ge=1, le=5)


class Ratings(Batch):
    """How much some pictures help."""

    pictures: tuple[Rated, ...]


class Use(JudgeReply):
    """How much a picture helps to score one criterion."""

    id: str = Field(description="Of the criterion.")
    rating: int = Field(ge=1, le=5)


class Matched(About):
    """Which criteria a picture helps to score."""

    shows: str = Field(description="What it shows, in one sentence.")
    criteria: tuple[Use, ...]


class Matches(Batch):
    """Which criteria some pictures help to score."""

    pictures: tuple[Matched, ...]


BatchT = TypeVar("BatchT", bound=Batch)


async def sort_pictures(
    judge: Judge, reply: type[BatchT], rules: str, parts: Sequence[Given], pictures: Sequence[Path]
) -> tuple[list[BatchT], tuple[int, ...]]:
    """Rate all pictures, small and in batches.

    Returns what the judge says, and the numbers of the pictures whose batch failed: no evidence, never a
    rating in the middle.

    Raises:
        Fault: source *grader*; more than a third of the pictures could not be rated.
    """
    groups = [pictures[start : start + BATCH] for start in range(0, len(pictures), BATCH)]
    replies = await judge.gather(*(_sort(judge, reply, rules, parts, group) for group in groups))
    faults = [fault for fault in replies if isinstance(fault, Fault)]
    failed = [group for group, one in zip(groups, replies, strict=True) if isinstance(one, Fault)]
    unrated = tuple(number_of(path) for group in failed for path in group)
    # Some lost batches are bad luck; more of them and the best pictures may be among the lost ones.
    if 3 * len(unrated) > len(pictures):
        raise GraderFault(f"{len(unrated)} of {len(pictures)} pictures could not be rated: {faults[0]}")
    return [one for one in replies if not isinstance(one, Fault)], unrated


async def _sort(
    judge: Judge, reply: type[BatchT], rules: str, parts: Sequence[Given], pictures: Sequence[Path]
) -> BatchT:
    shown = [Shown(path, detail="low") for path in pictures]
    wanted = sorted(picture.number for picture in shown)

    def check(said: BatchT) -> None:
        numbers = sorted(about.picture for about in said.pictures)
        if numbers != wanted:
            raise GraderFault(f"the judge rated the pictures {numbers}, not {wanted}")

    return await judge.ask(reply, rules, [*parts, *shown], call="rating of pictures", check=check)


def pick_best(ratings: Mapping[int, int], *, keep: int, most: int) -> list[int]:
    """Return the numbers of the pictures to look at, in the order in which they were taken.

    Where fewer than three are kept, the best five of all join them.

    Args:
        ratings: by the picture's number.
        keep: the lowest rating that is kept.
        most: how many are kept; among equals the later ones.
    """
    # Later pictures first among equals: the end of an attempt tells more than its middle.
    order = sorted(ratings, key=lambda number: (-ratings[number], -number))
    kept = [number for number in order if ratings[number] >= keep][:most]
    if len(kept) < 3:
        kept += [number for number in order[:5] if number not in kept]
    return sorted(kept)


def pick_by_criterion(
    matches: Sequence[Matched], keys: Sequence[str], *, keep: int, most: int
) -> dict[str, list[int]]:
    """Return the numbers of each criterion's best pictures, best first; other ids are passed over."""
    ratings: dict[str, dict[int, int]] = {key: {} for key in keys}
    for matched in matches:
        for use in matched.criteria:
            if use.id in ratings and use.rating >= keep:
                ratings[use.id][matched.picture] = use.rating
    return {
        key: sorted(rated, key=lambda number: (-rated[number], -number))[:most]
        for key, rated in ratings.items()
    }


def take_turns(ranked: Sequence[Sequence[int]], most: int) -> list[int]:
    """Return the first numbers of all rankings, then the second ones and so on, at most so many."""
    longest = max(map(len, ranked), default=0)
    taken = [row[place] for place in range(longest) for row in ranked if place < len(row)]
    return list(dict.fromkeys(taken))[:most]
