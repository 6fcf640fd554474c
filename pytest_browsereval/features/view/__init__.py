"""The page of a run, with files next to it or alone."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(commands=("command",), hooks="plugin")
