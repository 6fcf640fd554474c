"""A rule of a gate: no judged trial takes more steps than that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pytest_browsereval import GateRule, RuleResult, StoredAttempt, Verdict


class StepsRule(GateRule):
    """Holds every judged trial to a number of steps, where the core's rules look at means."""

    type: Literal["acme/steps"] = "acme/steps"
    limits_failures: ClassVar[bool] = False

    most: int
    """Steps that a trial may take."""

    def check(self, trials: Sequence[StoredAttempt]) -> RuleResult:
        """Name the trial that took most."""
        judged = [one for one in trials if one.verdict is not Verdict.ERRORED]
        if not judged:
            return RuleResult(self.type, is_met=False, message="no trial was judged")
        worst = max(judged, key=lambda one: one.total_steps)
        relation = "is within" if worst.total_steps <= self.most else "is over"
        message = f"{worst.query_id} took {worst.total_steps} steps, which {relation} {self.most}"
        over = tuple(one.query_id for one in judged if one.total_steps > self.most)
        return RuleResult(self.type, is_met=not over, message=message, tasks=over)
