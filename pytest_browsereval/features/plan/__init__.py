"""What a run will take, before it starts."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(hooks="plugin")
