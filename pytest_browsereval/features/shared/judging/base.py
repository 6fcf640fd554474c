"""Base of graders that ask a model: which model, its votes and their majority, its fingerprint, its cost."""

from __future__ import annotations

import asyncio
import json
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, ClassVar, Literal, Self

from pydantic import JsonValue

from pytest_browsereval.errors import Fault, StopRun, describe_error
from pytest_browsereval.features.shared.judging.judge import SENDING, Given, Judge, identity
from pytest_browsereval.features.shared.judging.replies import Replies, schema_of
from pytest_browsereval.graders.base import GraderConfig, GraderFault, Recorded, find_unanswered, hash_json
from pytest_browsereval.llm.judge import JudgeConfig
from pytest_browsereval.model.grades import Criterion, GraderResult, Verdict
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.needs import ModelNeed, Needs

Decision = Literal["passed", "failed", "undecided"]


@dataclass(frozen=True)
class Opinion:
    """One vote."""

    verdict: Decision
    score: float
    """From 0 to 1; of no meaning where the judge could not decide."""
    reasoning: str
    criteria: tuple[Criterion, ...] = ()
    evidence: tuple[str, ...] = ()
    """Files in the attempt's folder that it rests on."""
    details: dict[str, JsonValue] = field(default_factory=dict)

    @classmethod
    def yes_or_no(cls, passed: bool, reasoning: str, **more: object) -> Opinion:  # noqa: FBT001 it is the value
        """Return a vote whose score is 1 or 0."""
        return cls("passed" if passed else "failed", float(passed), reasoning, **more)  # type: ignore[arg-type]


def settle_votes(opinions: Sequence[Opinion | Fault]) -> Opinion | Fault:
    """Return what more than half of all votes say; without such a majority it is undecided.

    A vote that failed counts for neither side. The score is the mean of the votes that were given; criteria
    and evidence are those of the first vote of the majority, or of the first one that is undecided.
    """
    # Of all votes, not of those that were given: two of five is not a majority because three failed.
    needed, total = len(opinions) // 2 + 1, len(opinions)
    given = [opinion for opinion in opinions if isinstance(opinion, Opinion)]
    faults = [opinion for opinion in opinions if isinstance(opinion, Fault)]
    if not given:
        return faults[0]
    for word in ("passed", "failed"):
        side = [opinion for opinion in given if opinion.verdict == word]
        if len(side) >= needed:
            # Undecided votes have no score.
            score = fmean(o.score for o in given if o.verdict != "undecided")
            count = "" if total == 1 else f"{len(side)} of {total} votes: "
            return replace(side[0], score=score, reasoning=count + side[0].reasoning)
    words = [vote["verdict"] for vote in map(_describe_vote, opinions)]
    counts = ", ".join(f"{words.count(word)} {word}" for word in _WORDS if word in words)
    why = str(faults[0]) if faults else ""
    unsure = next((o for o in given if o.verdict == "undecided"), Opinion("undecided", 0.0, why))
    reasoning = f"undecided: of {total} votes {counts}. {unsure.reasoning}".strip()
    return replace(unsure, reasoning=reasoning)


_WORDS = ("passed", "failed", "undecided", "errored")


def _describe_vote(opinion: Opinion | Fault) -> dict[str, JsonValue]:
    if isinstance(opinion, Fault):
        return {"verdict": "errored", "reasoning": str(opinion)}
    score = None if opinion.verdict == "undecided" else opinion.score
    return {"verdict": opinion.verdict, "score": score, "reasoning": opinion.reasoning}


GRACE_S = 10.0
"""How much longer than its judge a grade may take, so that the grade says what was paid by then."""


class ModelGrader(GraderConfig):
    """Base of the members that ask a model.

    A member says what it asks in ``opinion``; the votes, the record of what was paid for, the fingerprint
    and the cost are the same for all.
    """

    prompts: ClassVar[tuple[str, ...]] = ()
    """All our texts that the judge is sent. A change of one changes the fingerprint."""
    replies: ClassVar[Replies] = ()
    """All forms of reply that it asks for: what their fields say is part of the prompts."""
    version: ClassVar[int] = 1
    """Of the rules around the prompts; raised when the same replies may give another grade."""

    judge: JudgeConfig | None = None
    """The model; the run's ``judge`` by default."""

    def secrets(self) -> tuple[str, ...]:
        """Return the key of the grader's own judge."""
        return self.judge.secrets() if self.judge else ()

    @property
    def sees_pictures(self) -> bool:
        """Whether its judge is shown the recorded pictures."""
        return False

    def needs(self, task: Task) -> Needs:
        """Return that it asks its judge, and whether the judge sees pictures."""
        return Needs(pictures=self.sees_pictures, models=(self._model,), seconds=GRACE_S)

    @property
    def _model(self) -> ModelNeed:
        return ModelNeed(self.label, self.judge, self.sees_pictures)

    async def grade(self, recorded: Recorded) -> GraderResult:
        """Ask the judge as often as it has votes, and take the majority.

        If anything breaks, the grade still says what was paid. ``stops_run`` says that a key was refused.

        Raises:
            ValueError: there is no judge.
        """
        config = self._model.choose_model(recorded.judge)
        opinions: list[Opinion | Fault]
        judge = Judge(config, recorded)
        try:
            async with asyncio.timeout(config.timeout_s) as clock:
                if (settled := await self.decide_without_model(recorded)) is not None:
                    opinions = [settled]
                else:
                    prepared = await self.prepare(recorded, judge)
                    ballots = [replace(judge, ballot=n) for n in range(config.votes)]  # one ledger
                    opinions = await judge.gather(*(self.opinion(recorded, one, prepared) for one in ballots))
        except Fault as fault:
            # What was asked so far is paid for, so the grade says so even if it is errored.
            opinions = [fault]
        except Exception as error:  # noqa: BLE001 what was paid must not be lost with it
            why = describe_error(error)
            if isinstance(error, TimeoutError) and clock.expired():
                why = f"the judge {judge.name} took more than {config.timeout_s:g} s. Raise judge.timeout_s"
            opinions = [GraderFault(why)]
        outcome, ledger = settle_votes(opinions), judge.ledger
        details: dict[str, JsonValue] = {
            "judge": identity(config),
            "calls": ledger.calls,
            # Shows that a grade made again cost nothing.
            "calls_from_record": ledger.from_record,
        }
        if len(opinions) > 1:
            details["votes"] = list(map(_describe_vote, opinions))
        said = Opinion("undecided", 0.0, str(outcome)) if isinstance(outcome, Fault) else outcome
        if said.verdict == "undecided":
            details["is_undecided"] = said is outcome
        return self._write_grade(
            replace(said, details={**details, **said.details}),
            self.judge_fingerprint(config, recorded.site_urls),
            usage=ledger.usage,
            cost_usd=ledger.usage.cost_usd if ledger.usage.requests else 0.0,
            stops_run=any(isinstance(opinion, StopRun) for opinion in opinions),
            unanswered=next(filter(None, map(find_unanswered, opinions)), None),
        )

    def _write_grade(self, opinion: Opinion, fingerprint: str, **more: Any) -> GraderResult:
        is_undecided = opinion.verdict == "undecided"
        return GraderResult(
            grader=self.label,
            verdict=Verdict.ERRORED if is_undecided else Verdict(opinion.verdict),
            score=None if is_undecided else opinion.score,
            reasoning=opinion.reasoning,
            criteria=opinion.criteria,
            evidence=opinion.evidence,
            details=opinion.details,
            fingerprint=fingerprint,
            **more,
        )

    async def decide_without_model(self, recorded: Recorded) -> Opinion | None:
        """Return the grade if the rule needs no model for it, for example without an answer; else None.

        Raises:
            Fault: what the judge would be shown is missing.
        """
        return None

    async def prepare(self, recorded: Recorded, judge: Judge) -> Any:
        """Return what all votes begin with and is asked once.

        Raises:
            Fault: the judge cannot be asked.
        """

    @abstractmethod
    async def opinion(self, recorded: Recorded, judge: Judge, prepared: Any) -> Opinion:
        """Return one vote.

        Args:
            recorded: the attempt.
            judge: asks; the questions of each vote are its own.
            prepared: what ``prepare`` returned.

        Raises:
            Fault: the judge cannot be asked, or its reply contradicts itself.
        """
        raise NotImplementedError

    def grade_by_rules(
        self, opinion: Opinion, recorded: Recorded, judge: JudgeConfig | None = None
    ) -> GraderResult:
        """Return the grade of an attempt that no model was asked about.

        Args:
            opinion: what the rules say.
            recorded: the attempt.
            judge: who is asked about other attempts at the same row: their grades are like this one.
        """
        urls = recorded.site_urls
        own = self.judge_fingerprint(judge, urls) if judge else self.rules().fingerprint(self.version, urls)
        return self._write_grade(opinion, own, cost_usd=0.0)

    def rules(self) -> Self:
        """Return the grader without its judge and other options that are not rules, such as paths."""
        return self.model_copy(update={"judge": None})

    def judge_fingerprint(self, judge: JudgeConfig, site_urls: Any = None) -> str:
        """Return what identifies the judge: rules, prompts, options, model, parameters and parser."""
        rules = self.rules().fingerprint(self.version, site_urls)
        # Descriptions of fields are read by the judge, so a change of one may change its verdict.
        forms = [schema_of(reply) for reply in self.replies]
        made_of = [rules, self.prompts, forms, identity(judge), judge.votes, SENDING]
        return f"{self.type}/{self.version}/{judge.model_name}/{hash_json(made_of)}"


def give_task(recorded: Recorded) -> Given:
    """Return the instruction that the agent was given."""
    return Given("task", recorded.task.query)


def give_answer(recorded: Recorded) -> Given:
    """Return what the agent says is the answer."""
    answer = recorded.final_answer
    return Given("final answer of the agent", "(none was given)" if answer is None else answer)


def give_reference(task: Task) -> Given | None:
    """Return the row's reference answer; None if it has none."""
    # Not `not task.answer`: 0 and false are answers.
    if task.answer in (None, "", [], {}):
        return None
    text = task.answer if isinstance(task.answer, str) else json.dumps(task.answer, ensure_ascii=False)
    return Given("reference answer", text)


def fail_unanswered(recorded: Recorded) -> Opinion | None:
    """Return a failure if there is no final answer, for rules that do not ask the judge then; else None."""
    if (recorded.final_answer or "").strip():
        return None
    why = "the agent gave no final answer; such an attempt fails without asking the judge"
    return Opinion("failed", 0.0, why, details={"is_answered": False})
