"""The parts of a run as tasks of Ray."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(commands=("command",))
