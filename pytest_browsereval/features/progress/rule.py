"""``min_progress``: how far the judged trials of a run came on average."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import ClassVar, Literal

from pydantic import Field

from pytest_browsereval.analysis.gate import ROUNDING
from pytest_browsereval.config.gate import GateRule
from pytest_browsereval.model.display import digits_apart, format_count, percent
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.runs.attempt import StoredAttempt


class MinProgressRule(GateRule):
    """Requires a mean progress of the judged trials.

    The progress of a trial is the place of its furthest milestone in the list. Without milestones it is the
    largest share of its checks that held at one moment. Errored trials do not count.
    """

    type: Literal["min_progress"] = "min_progress"
    limits_failures: ClassVar[bool] = False

    least: float = Field(ge=0, le=1)
    """The smallest mean, 0.6 for 60 %."""

    def check(self, trials: Sequence[StoredAttempt]) -> RuleResult:
        """Compare the mean; a trial whose progress is not known makes it unknown."""
        judged = [one for one in trials if one.verdict is not Verdict.ERRORED]
        if not judged:
            return RuleResult(self.type, is_met=False, message="no trial was judged")
        known = [one.best_progress for one in judged if one.best_progress is not None]
        if unknown := len(judged) - len(known):
            tasks = tuple(one.query_id for one in judged if one.best_progress is None)
            message = (
                f"it is unknown how far {unknown:,} of {format_count(len(judged), 'judged trial')} came: no "
                "check or milestone was evaluated during the attempt, or the page did not answer"
            )
            return RuleResult(self.type, is_met=False, message=message, tasks=tasks)
        mean = fmean(known)
        digits = digits_apart(self.least, mean)
        is_met = mean >= self.least - ROUNDING
        figures = f"progress {percent(mean, digits)} (mean of {format_count(len(known), 'judged trial')})"
        bound = f"{'meets' if is_met else 'is under'} {percent(self.least, digits)}"
        return RuleResult(self.type, is_met=is_met, message=f"{figures} {bound}")
