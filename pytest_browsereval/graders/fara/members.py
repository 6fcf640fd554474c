"""``fara_alignment``, ``fara_rubric``, ``fara_multimodal`` and their vote ``fara_combined``."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from pytest_browsereval.graders.base import Recorded
from pytest_browsereval.graders.fara import alignment, multimodal, rubric
from pytest_browsereval.graders.fara.alignment import AlignmentCheck
from pytest_browsereval.graders.fara.combined import Ballot, CombinedCheck, PartName, Rule, Verification
from pytest_browsereval.graders.fara.multimodal import MultimodalCheck
from pytest_browsereval.graders.fara.rubric import RubricCheck
from pytest_browsereval.graders.judging import relevance, rubrics, scoring
from pytest_browsereval.graders.judging.base import ModelGrader
from pytest_browsereval.graders.judging.judge import Judge
from pytest_browsereval.graders.judging.replies import Replies
from pytest_browsereval.graders.judging.rubrics import read_rubric
from pytest_browsereval.graders.judging.votes import Opinion
from pytest_browsereval.model.tasks import Task

_RUBRIC = (rubrics.MAKE, rubric.RULES)
_RUBRIC_REPLIES = (rubrics.NewRubric, scoring.Scores)
_MULTIMODAL = (relevance.RATE, multimodal.RULES)
_MULTIMODAL_REPLIES = (relevance.Ratings, multimodal.Sight)


class _Verifier(ModelGrader):
    @property
    @abstractmethod
    def _verification(self) -> Verification:
        raise NotImplementedError

    async def prepare(self, recorded: Recorded, judge: Judge) -> Any:
        """Return what all votes begin with.

        Raises:
            Fault: the evidence is missing, or the judge cannot be asked.
        """
        return await self._verification.prepare(recorded, judge)

    async def opinion(self, recorded: Recorded, judge: Judge, prepared: Any) -> Opinion:
        """Return one vote.

        Raises:
            Fault: the judge cannot be asked, or its reply contradicts itself.
        """
        return await self._verification.opinion(recorded, judge, prepared)


class _LooksAtPictures(_Verifier):
    max_pictures: int = Field(default=30, ge=5, le=500)
    """How many pictures are considered: spread evenly over the attempt, the last five among them."""
    relevance_threshold: int = Field(default=3, ge=1, le=5)
    """Where pictures are rated from 1 to 5, the lowest rating of one that is looked at closely."""
    max_shown: int = Field(default=10, ge=3, le=100)
    """How many pictures are looked at closely; where there are more, all are rated first."""

    @property
    def sees_pictures(self) -> bool:
        """True: a run that takes none is refused."""
        return True

    @property
    def _sight(self) -> MultimodalCheck:
        return MultimodalCheck(self.max_pictures, self.relevance_threshold, self.max_shown)


class FaraAlignmentGrader(_Verifier):
    """Asks by texts alone whether the actions and the answer fit the task."""

    type: Literal["fara_alignment"] = "fara_alignment"
    prompts: ClassVar[tuple[str, ...]] = (alignment.RULES,)
    replies: ClassVar[Replies] = (alignment.Alignment,)

    @property
    def _verification(self) -> AlignmentCheck:
        return AlignmentCheck()


class FaraRubricGrader(_Verifier):
    """Scores actions and answer by a rubric: the row's, or one that is made of the task alone."""

    type: Literal["fara_rubric"] = "fara_rubric"
    prompts: ClassVar[tuple[str, ...]] = _RUBRIC
    replies: ClassVar[Replies] = _RUBRIC_REPLIES

    threshold: float = Field(default=0.8, ge=0, le=1)
    """The share of the points from which an attempt passes, if every required criterion is met."""

    @property
    def _verification(self) -> RubricCheck:
        return RubricCheck(self.threshold)

    def check(self, task: Task, base_dir: Path) -> None:
        """Check the rubric that the row carries.

        Raises:
            ValueError: it has not the form of one.
        """
        del base_dir
        read_rubric(task)


class FaraMultimodalGrader(_LooksAtPictures):
    """Asks by pictures whether the answer is true to them and the task is satisfied; both have to hold."""

    type: Literal["fara_multimodal"] = "fara_multimodal"
    prompts: ClassVar[tuple[str, ...]] = _MULTIMODAL
    replies: ClassVar[Replies] = _MULTIMODAL_REPLIES

    @property
    def _verification(self) -> MultimodalCheck:
        return self._sight


class FaraCombinedGrader(_LooksAtPictures):
    """Verifies by actions, by a rubric and by pictures at once, and lets the three vote.

    A part that is errored has no vote: the grade stands if the others decide alone, and else is errored.
    """

    type: Literal["fara_combined"] = "fara_combined"
    prompts: ClassVar[tuple[str, ...]] = (alignment.RULES, *_RUBRIC, *_MULTIMODAL)
    replies: ClassVar[Replies] = (alignment.Alignment, *_RUBRIC_REPLIES, *_MULTIMODAL_REPLIES)

    rule: Rule = "majority"
    """``majority`` (two of three), ``all``, or ``weighted``."""
    weights: dict[PartName, Annotated[float, Field(ge=0, allow_inf_nan=False)]] | None = None
    """With ``weighted``: how much each vote weighs; all three are named. The same each by default."""
    threshold: float | None = Field(default=None, gt=0, le=1)
    """With ``weighted``: the share of the weights that has to pass; 0.5 by default."""
    rubric_threshold: float = Field(default=0.8, ge=0, le=1)
    """The share of the points from which the rubric passes."""

    @model_validator(mode="after")
    def _rule_is_complete(self) -> Self:
        if self.rule != "weighted" and (self.weights is not None or self.threshold is not None):
            raise ValueError(
                f"weights and threshold belong to the rule 'weighted', and the rule is {self.rule!r}. Write  "
                "rule: weighted , or leave them out. The rubric's own limit is  rubric_threshold."
            )
        if self.weights is not None and (len(self.weights) < 3 or not sum(self.weights.values())):
            raise ValueError(
                "weights names alignment, rubric and multimodal, not all of them 0. Write  weights: "
                "{alignment: 1, rubric: 2, multimodal: 2}"
            )
        return self

    @property
    def _verification(self) -> CombinedCheck:
        weights = {str(part): weight for part, weight in (self.weights or {}).items()}
        ballot = Ballot(self.rule, weights, 0.5 if self.threshold is None else self.threshold)
        return CombinedCheck(RubricCheck(self.rubric_threshold), self._sight, ballot)

    def check(self, task: Task, base_dir: Path) -> None:
        """Check the rubric that the row carries.

        Raises:
            ValueError: it has not the form of one.
        """
        del base_dir
        read_rubric(task)
