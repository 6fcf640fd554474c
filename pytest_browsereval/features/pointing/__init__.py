"""Tools that act at points, and agents that point at pictures."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    kits=("tools:KIT",),
    members={
        "agent": {
            "computer-use": "computer_use:ComputerUseConfig",
            "visual-action clado-action": "visual_action:VisualActionConfig",
        }
    },
)
