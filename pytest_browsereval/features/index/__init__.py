"""The index of a run, made again from its records."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    commands=("command",),
)
