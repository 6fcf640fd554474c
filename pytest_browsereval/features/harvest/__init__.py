"""Passed attempts as solutions of their rows, or as tests that need no agent."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(commands=("command",))
