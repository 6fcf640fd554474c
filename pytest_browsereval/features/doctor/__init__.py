"""The doctor: tries what a config needs, and checks its rows."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(commands=("command",))
