"""Removes pictures and recordings of attempts that nobody looks at again."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(commands=("command",))
