"""Known walls: pages that stop an agent and are no part of the app, such as a bot check."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(keys=(("walls",),), hooks="plugin")
