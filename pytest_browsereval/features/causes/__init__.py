"""Why attempts did not pass: the first wrong step, and groups of attempts with one cause."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(commands=("command",), hooks="plugin")
