"""``rubric``: how well the work was done, by criteria, apart from whether the task is done."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import Field, JsonValue

from pytest_browsereval.features.judges import rubrics
from pytest_browsereval.features.judges.relevance import RATE, Chosen, LookingGrader, Ratings
from pytest_browsereval.features.judges.rubrics import Rubric, Scored, Scores, SeenScores, settle_scores
from pytest_browsereval.features.shared.judging.base import Decision, Opinion, give_answer, give_task
from pytest_browsereval.features.shared.judging.judge import Given, Judge, Part
from pytest_browsereval.features.shared.judging.pictures import Shown, evidence_of, load_pictures
from pytest_browsereval.features.shared.judging.replies import JudgeReply, Replies
from pytest_browsereval.features.shared.judging.steps import give_actions, join_lines, load_steps
from pytest_browsereval.features.shared.prompts import read_prompts
from pytest_browsereval.graders.base import GraderFault, Recorded

TEXTS = read_prompts(__file__)
READ, LOOK = (f"{TEXTS[name]}\n{rubrics.RULES}\n{TEXTS['blocked']}" for name in ("read", "look"))
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
                problems.append(f"an obstacle cites pictures that it was not given: {obstacle.pictures}")
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
    chosen: Chosen


class RubricGrader(LookingGrader, rubrics.ScoringGrader):
    """Scores the work by the row's rubric, or by one made of the task alone, and asks if the task is done.

    Each criterion is scored twice: by the actions first, then with the most relevant pictures. The
    score is that of the work; whether the task is done is a strict yes or no of its own. What stood in
    the way and was not the agent's fault is kept apart from both.
    """

    type: Literal["rubric"] = "rubric"
    prompts: ClassVar[tuple[str, ...]] = (rubrics.MAKE, READ, RATE, LOOK, OUTCOME)
    replies: ClassVar[Replies] = (rubrics.NewRubric, Scores, Ratings, SeenScores, Outcome)

    passes_by: Literal["outcome", "process", "both"] = "outcome"
    """What an attempt passes by: ``outcome`` (the task is done), ``process`` (the score), or ``both``."""
    score: rubrics.ScoreBy = "points"
    """``points``: earned points among all of them; ``items``: the share of the criteria that are met."""
    on_blocker: Literal["error", "fail"] = "error"
    """What an attempt is that failed only because of a captcha, a site that was down and the like: ``error``
    (it says nothing about the agent) or ``fail``."""

    async def prepare(self, recorded: Recorded, judge: Judge) -> _Prepared:
        """Make the rubric before the judge sees the attempt, score by texts, and choose the pictures.

        Raises:
            Fault: there are no pictures, or the judge cannot be asked or contradicts itself.
        """
        # What is missing shows before a rubric is paid for.
        steps = await asyncio.to_thread(load_steps, recorded)
        await asyncio.to_thread(load_pictures, recorded)
        # Before any question about the attempt: a rubric that is made later is fitted to what the agent did.
        rubric = await rubrics.get_rubric(recorded, judge)
        task, answer = give_task(recorded), give_answer(recorded)
        given = (task, give_actions(steps, results=True), answer)

        def score(said: Scores) -> Scored:
            return settle_scores(rubric, said.criteria, self.threshold, by=self.score)

        said: Scores
        said, chosen = await judge.ask_all(
            judge.ask(Scores, READ, [*given, rubric.part()], call="scores without pictures", check=score),
            self.choose_pictures(recorded, judge, [task, answer, rubric.part()]),
        )
        return _Prepared(rubric, given, len(steps), score(said), chosen)

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: _Prepared) -> Opinion:
        """Score with pictures, and ask for the outcome: two questions that know nothing of each other.

        Raises:
            Fault: the judge cannot be asked or contradicts itself.
        """
        shown = [Shown(path) for path in prepared.chosen.paths]
        numbers = [picture.number for picture in shown]
        material: list[Part] = [
            *prepared.given,
            prepared.rubric.part(),
            _list_first_scores(prepared.first),
            *shown,
        ]

        def score(said: SeenScores) -> Scored:
            return settle_scores(prepared.rubric, said.criteria, self.threshold, by=self.score, shown=numbers)

        def check(said: Outcome) -> None:
            said.check(numbers, prepared.actions)

        # The outcome is asked for without the rubric, so that points do not talk the judge into a yes.
        scores: SeenScores
        outcome: Outcome
        scores, outcome = await judge.ask_all(
            judge.ask(SeenScores, LOOK, material, call="scores", check=score),
            judge.ask(Outcome, OUTCOME, [*prepared.given, *shown], call="outcome", check=check),
        )
        scored = score(scores)
        done = "the task is done" if outcome.is_accomplished else "the task is not done"
        if outcome.is_blocked:
            kinds = ", ".join(dict.fromkeys(o.kind for o in outcome.blockers))
            done += f", only because of what the agent could not avoid ({kinds})"
        return Opinion(
            self._decide(scored, outcome),
            scored.score,
            f"{done}. {outcome.reasoning}\nProcess: {scored.describe()}",
            criteria=scored.criteria(),
            evidence=evidence_of(prepared.chosen.paths),
            details=self._describe(prepared, scored, outcome),
        )

    def _decide(self, scored: Scored, outcome: Outcome) -> Decision:
        if self.passes_by == "process":
            return "passed" if scored.passes else "failed"
        if self.passes_by == "both" and not scored.passes:
            return "failed"
        if outcome.is_accomplished:
            return "passed"
        return "undecided" if self.on_blocker == "error" and outcome.is_blocked else "failed"

    def _describe(self, prepared: _Prepared, scored: Scored, outcome: Outcome) -> dict[str, JsonValue]:
        before = {mark.item.id: mark.said.earned_points for mark in prepared.first.marks}
        lowered = (m.item.id for m in scored.marks if m.said.earned_points < before.get(m.item.id, 0))
        return {
            "rubric": prepared.rubric.as_json(),
            "passes_by": self.passes_by,
            "process": scored.as_json(),
            "outcome": {"accomplished": outcome.is_accomplished, "reasoning": outcome.reasoning},
            "blockers": [{**o.model_dump(mode="json"), "is_proved": o.is_proved} for o in outcome.blockers],
            "failed_only_by_blockers": outcome.is_blocked,
            "score_without_pictures": prepared.first.score,
            # Claims that no picture showed.
            "lowered_by_pictures": [*lowered],
            **prepared.chosen.details,
        }


def _list_first_scores(first: Scored) -> Given:
    marks = [
        f"{m.item.id}: {m.said.earned_points:g} of {m.item.max_points:g} points. {join_lines(m.said.reason)}"
        for m in first.marks
    ]
    marks += [f"{key}: does not apply" for key in first.not_applicable]
    return Given("scores without pictures", "\n".join(marks))
