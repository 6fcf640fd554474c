"""``rubric``: how well the work was done, by criteria, apart from whether the task is done."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from pytest_browsereval.features.judges import relevance, rubrics, scoring
from pytest_browsereval.features.judges.rubrics import Rubric, get_rubric, read_rubric
from pytest_browsereval.features.judges.scoring import Scored, Scores, SeenScores, settle_scores
from pytest_browsereval.features.shared.judging.base import (
    ModelGrader,
    Opinion,
    doubt_failure,
    give_answer,
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
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.graders.base import GraderFault, Recorded
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.runs.folder import number_of

TEXTS = read_prompts(__file__)
_BLOCKED = TEXTS["blocked"]

READ = f"{TEXTS['read']}\n{scoring.RULES}\n{_BLOCKED}"

LOOK = f"{TEXTS['look']}\n{scoring.RULES}\n{_BLOCKED}"


OUTCOME = TEXTS["outcome"]


class Obstacle(JudgeReply):
    """What stood in the way."""

    kind: Literal["captcha", "site_down", "login_wall", "out_of_stock", "other"]
    what: str = Field(description="What happened, in one sentence.")
    could_be_avoided: bool
    pictures: list[int] = Field(description="Numbers of the pictures that show it; may be empty.")
    actions: list[int] = Field(description="Numbers of the actions that ran into it; may be empty.")

    @property
    def is_proved(self) -> bool:
        """Whether a picture or an action shows it: what an agent claims does not excuse it."""
        return bool(self.pictures or self.actions)


class Outcome(JudgeReply):
    """What the judge says."""

    reasoning: str = Field(description="What the task asks for, and which facts show that it is so or not.")
    obstacles: list[Obstacle]
    is_accomplished: bool
    failed_only_by_obstacles: bool

    @property
    def blockers(self) -> list[Obstacle]:
        """The obstacles that could not be avoided."""
        return [obstacle for obstacle in self.obstacles if not obstacle.could_be_avoided]

    @property
    def is_blocked(self) -> bool:
        """Whether the task is not done for no other reason than obstacles that are proved."""
        return self.failed_only_by_obstacles and any(o.is_proved for o in self.blockers)

    def check(self, shown: Collection[int], actions: int) -> None:
        """Check that it agrees with itself and with what the judge was given.

        Args:
            shown: numbers of the pictures that the judge was shown.
            actions: how many actions it was given.

        Raises:
            Fault: source *grader*; it does not.
        """
        problems = []
        if self.failed_only_by_obstacles and self.is_accomplished:
            problems.append("the task is done, and failed because of obstacles")
        if self.failed_only_by_obstacles and not self.blockers:
            problems.append("only obstacles were in the way, and it names none that could not be avoided")
        for obstacle in self.obstacles:
            # Models cite pictures that they were never shown; such proof is none.
            if not set(obstacle.pictures) <= set(shown):
                problems.append(
                    f"an obstacle is shown by pictures that it was not given: {obstacle.pictures}"
                )
            if not all(1 <= number <= actions for number in obstacle.actions):
                problems.append(f"an obstacle is shown by actions that do not exist: {obstacle.actions}")
        if problems:
            raise GraderFault(f"the judge contradicts itself: {problems[0]}")


@dataclass(frozen=True)
class _Prepared:
    rubric: Rubric
    given: tuple[Given, ...]
    """Task, actions and final answer."""
    actions: int
    first: Scored
    pictures: list[Path]
    picked: dict[str, list[int]]
    """Numbers of the pictures by the criterion that they were picked for."""
    details: dict[str, JsonValue]
    unrated: tuple[int, ...]


class RubricGrader(ModelGrader):
    """Scores the work by the row's rubric, or by one made of the task alone, and asks if the task is done.

    Each criterion is scored twice: by the actions first, then with the most relevant pictures. The
    score is that of the work; whether the task is done is a strict yes or no of its own. What stood in
    the way and was not the agent's fault is kept apart from both.
    """

    type: Literal["rubric"] = "rubric"
    sees_pictures: ClassVar[bool] = True
    prompts: ClassVar[tuple[str, ...]] = (rubrics.MAKE, READ, relevance.MATCH, LOOK, OUTCOME)
    replies: ClassVar[Replies] = (rubrics.NewRubric, Scores, relevance.Matches, SeenScores, Outcome)

    passes_by: Literal["outcome", "process", "both"] = "outcome"
    """What an attempt passes by: ``outcome`` (the task is done), ``process`` (the score), or ``both``."""
    threshold: float = Field(default=0.8, ge=0, le=1)
    """The score from which the process passes, if every required criterion is met."""
    score: scoring.ScoreBy = "points"
    """``points``: earned points among all of them; ``items``: the share of the criteria that are met."""
    on_blocker: Literal["error", "fail"] = "error"
    """What an attempt is that failed only because of a captcha, a site that was down and the like: ``error``
    (it says nothing about the agent) or ``fail``."""
    max_pictures: int = Field(default=30, ge=5, le=500)
    """How many pictures are considered: spread evenly over the attempt, the last five among them."""
    relevance_threshold: int = Field(default=3, ge=1, le=5)
    """The lowest rating, from 1 to 5, of a picture that is picked for a criterion."""
    pictures_per_criterion: int = Field(default=3, ge=1, le=20)
    """How many pictures are picked for each criterion."""
    max_shown: int = Field(default=15, ge=1, le=100)
    """How many pictures are looked at closely, all criteria together; the last one is always among them."""

    def check(self, task: Task, base_dir: Path) -> None:
        """Check the rubric that the row carries.

        Raises:
            ValueError: it does not have the form of one.
        """
        read_rubric(task)

    async def prepare(self, recorded: Recorded, judge: Judge) -> _Prepared:
        """Make the rubric before the judge sees the attempt, score by texts, and pick the pictures.

        Raises:
            Fault: there are no pictures, or the judge cannot be asked or contradicts itself.
        """
        # What is missing shows before a rubric is paid for.
        steps = await asyncio.to_thread(load_steps, recorded)
        files = await asyncio.to_thread(load_pictures, recorded)
        sample = sample_evenly(files, self.max_pictures, keep_last=5)
        # Before any question about the attempt: a rubric that is made later is fitted to what the agent did.
        rubric = await get_rubric(recorded, judge)
        given = (give_task(recorded), give_actions(steps, results=True), give_answer(recorded))

        def score(said: Scores) -> Scored:
            return settle_scores(rubric, said.criteria)

        first, (batches, unrated) = await judge.ask_both(
            judge.ask(Scores, READ, [*given, rubric.part()], call="scores without pictures", check=score),
            relevance.sort_pictures(
                judge, relevance.Matches, relevance.MATCH, [given[0], rubric.part()], sample
            ),
        )
        picked = relevance.pick_by_criterion(
            [picture for batch in batches for picture in batch.pictures],
            [item.key for item in rubric.items],
            keep=self.relevance_threshold,
            most=self.pictures_per_criterion,
        )
        # The last picture shows how it ended, so its rating does not matter.
        numbers = relevance.take_turns([[number_of(sample[-1])], *picked.values()], self.max_shown)
        return _Prepared(
            rubric=rubric,
            given=given,
            actions=len(steps),
            first=score(first),
            pictures=[path for path in sample if number_of(path) in numbers],
            picked={key: [n for n in found if n in numbers] for key, found in picked.items()},
            details={"pictures": len(files), "sampled": len(sample), "unrated": list(unrated)},
            unrated=unrated,
        )

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: _Prepared) -> Opinion:
        """Score with pictures, and ask for the outcome: two questions that know nothing of each other.

        Raises:
            Fault: the judge cannot be asked or contradicts itself.
        """
        shown = [Shown(path) for path in prepared.pictures]
        numbers = [picture.number for picture in shown]
        material: list[Part] = [*prepared.given, prepared.rubric.part(), *_list_first_pass(prepared), *shown]

        def score(said: SeenScores) -> Scored:
            return settle_scores(prepared.rubric, said.criteria, numbers)

        def check(said: Outcome) -> None:
            said.check(numbers, prepared.actions)

        # The outcome is asked for without the rubric, so that points do not talk the judge into a yes.
        seen: list[Part] = [*prepared.given, *shown]
        scores, said = await judge.ask_both(
            judge.ask(SeenScores, LOOK, material, call="scores", check=score),
            judge.ask(Outcome, OUTCOME, seen, call="outcome", check=check),
        )
        scored = score(scores)
        opinion = Opinion(
            self._verdict(scored, said),
            scored.score(self.score),
            self._reasoning(scored, said),
            criteria=scored.criteria(),
            evidence=evidence_of(prepared.pictures),
            details=self._details(prepared, scored, said),
        )
        return doubt_failure(opinion, prepared.unrated)

    def _verdict(self, scored: Scored, said: Outcome) -> Literal["passed", "failed", "undecided"]:
        by_process = scored.passes(self.threshold, self.score)
        if self.passes_by == "process":
            return "passed" if by_process else "failed"
        if self.passes_by == "both" and not by_process:
            return "failed"
        if said.is_accomplished:
            return "passed"
        return "undecided" if self.on_blocker == "error" and said.is_blocked else "failed"

    def _reasoning(self, scored: Scored, said: Outcome) -> str:
        done = "the task is done" if said.is_accomplished else "the task is not done"
        if said.is_blocked:
            kinds = ", ".join(dict.fromkeys(o.kind for o in said.blockers))
            done += f", only because of what the agent could not avoid ({kinds})"
        process = scored.sentence(self.threshold, self.score)
        return f"{done}. {said.reasoning}\nProcess: {process}"

    def _details(self, prepared: _Prepared, scored: Scored, said: Outcome) -> dict[str, JsonValue]:
        process = scored.as_json(self.threshold, self.score)
        before = {mark.item.key: mark.earned for mark in prepared.first.marks}
        return {
            "rubric": prepared.rubric.as_json(),
            "passes_by": self.passes_by,
            "process": {**process, "passed": scored.passes(self.threshold, self.score)},
            "outcome": {"accomplished": said.is_accomplished, "reasoning": said.reasoning},
            "perfect": scored.is_perfect,
            "blockers": [{**o.model_dump(mode="json"), "is_proved": o.is_proved} for o in said.blockers],
            "failed_only_by_blockers": said.is_blocked,
            "obstacles_that_could_be_avoided": [o.what for o in said.obstacles if o.could_be_avoided],
            "score_without_pictures": prepared.first.score(self.score),
            # Claims that no picture showed.
            "lowered_by_pictures": [m.item.key for m in scored.marks if m.earned < before.get(m.item.key, 0)],
            "picked": {key: list(numbers) for key, numbers in prepared.picked.items()},
            **prepared.details,
        }


def _list_first_pass(prepared: _Prepared) -> Sequence[Given]:
    marks = [
        f"{m.item.key}: {m.earned:g} of {m.item.max_points:g} points. {' '.join(m.reason.split())}"
        for m in prepared.first.marks
    ]
    marks += [f"{key}: does not apply" for key in prepared.first.not_applicable]
    picked = [f"{key}: {', '.join(map(str, n)) or 'none'}" for key, n in prepared.picked.items()]
    return Given("scores without pictures", "\n".join(marks)), Given("picked pictures", "\n".join(picked))
