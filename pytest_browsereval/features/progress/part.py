"""What is checked of a config before the run."""

from __future__ import annotations

from pytest_browsereval.features.progress.rule import MinProgressRule
from pytest_browsereval.hooks.controller import RunPart
from pytest_browsereval.run.active import ActiveRun


class ProgressPart(RunPart):
    """Follows attempts where the config asks for it."""

    keys = (("capture", "checks"),)

    def check(self, active_run: ActiveRun) -> None:
        """Refuse a rule about progress in a run that records none.

        Raises:
            ConfigError: with the key to write.
        """
        config = active_run.config
        for place, rule in enumerate(config.gate.rules):
            if isinstance(rule, MinProgressRule) and config.capture.checks != "each":
                why = "the rule needs the progress of attempts, which is not recorded."
                raise config.wrong(("gate", "rules", place), f"{why} Write `capture: {{checks: each}}`.")
