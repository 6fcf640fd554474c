"""What a run was made of."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    commands=("command",),
)
