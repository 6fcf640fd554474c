"""Finished runs in the forms of other tools."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(commands=("command",), keys=(("export",),), hooks="plugin")
