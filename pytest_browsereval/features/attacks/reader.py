"""Reads configs with attacks; what that takes is imported where there are some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_browsereval.config import EvalConfig
    from pytest_browsereval.registry import Registry


class AttackReader:
    """Derives the rows of a config with attacks."""

    name = "attacks"

    def recognises(self, tree: Mapping[str, Any]) -> bool:
        """Whether there are attacks."""
        return bool(tree.get("attacks"))

    def convert_blocks(self, draft: Any, registry: Registry) -> None:
        """Put the attacks of suites in place of the blocks that stand for them."""
        from pytest_browsereval.features.attacks.suites import expand_suites

        expand_suites(draft)

    def complete(self, config: EvalConfig) -> EvalConfig:
        """Return a config with a row under each attack for each of its rows that the attack selects.

        Raises:
            ConfigError: an attack cannot be delivered or judged.
        """
        if not config.attacks:
            return config
        from pytest_browsereval.features.attacks.config import derive_rows

        return derive_rows(config)
