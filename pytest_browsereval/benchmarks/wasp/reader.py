"""Reads the attacks of WASP that a config names by one block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_browsereval.config_text import DocumentError
from pytest_browsereval.model.display import format_count

if TYPE_CHECKING:
    from pytest_browsereval.config.model import EvalConfig
    from pytest_browsereval.registry import Component


class WaspReader:
    """Puts an attack for each goal in the place of a block that stands for all."""

    name = "wasp"

    def recognises(self, tree: Mapping[str, Any]) -> bool:
        """Whether there are attacks; which of them are WASP's is known once they are valid."""
        return bool(tree.get("attacks"))

    def complete(self, config: EvalConfig) -> EvalConfig:
        """Return the config with an attack for each goal.

        Raises:
            ConfigError: a file cannot be read, or has no goal that can be judged.
        """
        if not any(one.type == "wasp" for one in config.attacks):
            return config
        from pytest_browsereval.benchmarks.base import RowProblem
        from pytest_browsereval.benchmarks.wasp.attack import WaspAttack, expand

        attacks: list[Component] = []
        notes: list[str] = []
        for number, one in enumerate(config.attacks):
            if not isinstance(one, WaspAttack):
                attacks.append(one)
                continue
            try:
                found, left_out = expand(one, config.base_dir)
            except (OSError, DocumentError, RowProblem, ValueError) as error:
                raise config.wrong(("attacks", number), f"{one.path}: {error}") from None
            if not found:
                raise config.wrong(("attacks", number), "none of its goals can be judged here.")
            attacks += found
            notes += [
                f"WASP: {format_count(count, 'goal')} of attackers left out: {why}."
                for why, count in left_out.items()
            ]
        completed = config.model_copy(update={"attacks": tuple(attacks)})
        completed._notes = (*config._notes, *notes)  # noqa: SLF001 a config is completed by readers only
        return completed
