"""What a run with attacks has beside its rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pytest_browsereval.analysis.summary import RunSummary
from pytest_browsereval.hooks.controller import RunPart
from pytest_browsereval.model.rules import RuleResult
from pytest_browsereval.run.active import ActiveRun


class AttackPart(RunPart):
    """Runs rows under attack, and judges the gate's rules about them."""

    keys = (("attacks",),)

    def check(self, active_run: ActiveRun) -> None:
        """Refuse rules about attacks where there are none.

        Raises:
            ConfigError: with the key to write.
        """
        config = active_run.config
        if config.gate.of_attacks and not config.attacks:
            why = "the rule is about rows under attack, and there are none. Write `attacks`."
            raise config.wrong(("gate", config.gate.of_attacks[0]), why)

    def judge(self, active_run: ActiveRun, summary: RunSummary) -> Iterable[RuleResult]:
        """Return what the rules about attacks say."""
        from pytest_browsereval.features.attacks.rules import judge_attacks

        return judge_attacks(summary, active_run.config.gate)

    def sum_up(self, active_run: ActiveRun, summary: RunSummary) -> tuple[dict[str, Any], list[str]]:
        """Return the figures, and the lines that say them."""
        if len(summary.plain) == len(summary.trials):
            return {}, []
        from pytest_browsereval.features.attacks.figures import find_figures
        from pytest_browsereval.features.attacks.report import describe_figures

        found = find_figures(summary)
        return ({}, []) if found is None else ({"attacks": found.as_json()}, list(describe_figures(found)))
