"""What a run with attacks has beside its rows."""

from __future__ import annotations

from pytest_browsereval.hooks.controller import RunPart
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
        for name in ("max_attack_success", "min_utility_under_attack"):
            if getattr(config.gate, name) is not None and not config.attacks:
                why = "the rule is about rows under attack, and there are none. Write `attacks`."
                raise config.wrong(("gate", name), why)
