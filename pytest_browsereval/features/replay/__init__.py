"""Model calls and web traffic of trials, recorded in cassettes and replayed from there."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(hooks="plugin")
