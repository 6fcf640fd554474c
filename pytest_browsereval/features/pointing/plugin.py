"""``agent: {type: computer-use}`` and ``visual-action``: agents that answer pictures with points."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register the agents; each is imported when a config names it."""
    registry.announce("agent", "computer-use", f"{__package__}.computer_use:ComputerUseConfig")
    registry.announce(
        "agent",
        "visual-action",
        f"{__package__}.visual_action:VisualActionConfig",
        aliases=("clado-action",),
    )
