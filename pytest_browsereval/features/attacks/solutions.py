"""Solutions of goals, which the agent ``gullible`` plays: checked before the run, as those of rows are."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_browsereval.agents.scripted import check_steps
from pytest_browsereval.config.model import EvalConfig
from pytest_browsereval.features.attack import list_attacks
from pytest_browsereval.tools.base import Tool


def check_solutions(config: EvalConfig, tools: Mapping[str, Tool]) -> None:
    """Check that an agent can take the steps of all goals.

    Args:
        config: with the attacks.
        tools: that the agent has, by name.

    Raises:
        ConfigError: with file and line of the step.
    """
    for place, attack in enumerate(list_attacks(config)):
        for number, message in check_steps(attack.goal.solution, tools, "the goal's solution"):
            path = ("attacks", place, "goal", "solution", number - 1)
            raise config.wrong(path, f"the attack {attack.label!r}: {message}")
