"""The outcome of an attempt: a strict yes or no, and what stood in the way that was not the agent's."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from pydantic import Field, JsonValue

from pytest_browsereval.errors import Fault
from pytest_browsereval.graders.base import GraderFault
from pytest_browsereval.graders.judging.replies import JudgeReply

RULES = """\
You decide one thing about an agent that was given a task in a web browser: at the end, is the task done, \
yes or no? You are given the task, the agent's actions as they were recorded, its final answer, and \
pictures of the pages in the order in which they were taken, some of them left out.

is_accomplished is true only if everything that the task asks for is reached, within every limit that it \
states, and the recorded actions or the pictures show it. Almost done is not done. Effort, good reasons \
and what only the answer says do not count. If you cannot tell, it is false.

Then list the obstacles: what the site or the network put in the way. For each of them say
- could_be_avoided: whether the agent could have got past it, or around it by a way that the task allows, \
or caused it itself. A wrong address, a wrong order of steps or giving up early is the agent's own fault \
and no obstacle.
- pictures and actions: the numbers of those that show it. An obstacle that only the answer tells of is \
shown by none of them.
failed_only_by_obstacles is true if the task is not done, and obstacles that could not be avoided are the \
only reason for it: nothing that the agent did or left out would have kept it from being done."""


class Obstacle(JudgeReply):
    """What stood in the way."""

    kind: Literal["captcha", "site_down", "login_wall", "out_of_stock", "other"]
    what: str = Field(description="What happened, in one sentence.")
    could_be_avoided: bool
    pictures: list[int] = Field(description="Numbers of the pictures that show it; may be empty.")
    actions: list[int] = Field(description="Numbers of the actions that ran into it; may be empty.")


class Outcome(JudgeReply):
    """What the judge says."""

    reasoning: str = Field(description="What the task asks for, and which facts show that it is so or not.")
    obstacles: list[Obstacle]
    is_accomplished: bool
    failed_only_by_obstacles: bool


def check_outcome(outcome: Outcome, shown: Collection[int], actions: int) -> None:
    """Check that a judge's reply agrees with itself and with what it was given.

    Args:
        outcome: the reply.
        shown: numbers of the pictures that it was shown.
        actions: how many actions it was given.

    Raises:
        Fault: source *grader*; it does not.
    """
    if outcome.failed_only_by_obstacles and outcome.is_accomplished:
        raise _contradiction("the task is done, and failed because of obstacles")
    if outcome.failed_only_by_obstacles and all(o.could_be_avoided for o in outcome.obstacles):
        raise _contradiction("only obstacles were in the way, and it names none that could not be avoided")
    for obstacle in outcome.obstacles:
        # Models cite pictures that they were never shown; such proof is none.
        if not set(obstacle.pictures) <= set(shown):
            raise _contradiction(
                f"an obstacle is shown by pictures that it was not given: {obstacle.pictures}"
            )
        if not all(1 <= number <= actions for number in obstacle.actions):
            raise _contradiction(f"an obstacle is shown by actions that there are not: {obstacle.actions}")


def blockers_of(outcome: Outcome) -> list[JsonValue]:
    """Return the obstacles that could not be avoided, for the details of a grade.

    One that no picture and no action shows is not proved: what an agent claims does not excuse it.
    """
    return [
        {**obstacle.model_dump(mode="json"), "is_proved": _is_proved(obstacle)}
        for obstacle in outcome.obstacles
        if not obstacle.could_be_avoided
    ]


def is_blocked(outcome: Outcome) -> bool:
    """Return whether the task is not done for no other reason than obstacles that are proved."""
    proved = any(_is_proved(o) for o in outcome.obstacles if not o.could_be_avoided)
    return outcome.failed_only_by_obstacles and proved


def _is_proved(obstacle: Obstacle) -> bool:
    return bool(obstacle.pictures or obstacle.actions)


def _contradiction(message: str) -> Fault:
    return GraderFault(f"the judge contradicts itself: {message}")
