"""Agents that point at pictures: actions, their spellings, geometry, pictures, the HTTP service."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={
        "agent": {
            "computer-use": "computer_use:ComputerUseConfig",
            "visual-action clado-action": "visual_action:VisualActionConfig",
        }
    }
)
