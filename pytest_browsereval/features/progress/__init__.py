"""How far an attempt came: checks and milestones asked after every step."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={"rule": {"min_progress": "rule:MinProgressRule"}}, keys=(("capture", "checks"),), hooks="plugin"
)
