"""Passed attempts as solutions of their rows."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(commands=("command",))
