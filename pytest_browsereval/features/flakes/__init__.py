"""Tasks whose verdict differs from run to run."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    commands=("command",),
)
