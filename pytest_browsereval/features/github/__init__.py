"""GitHub Actions: the job's summary and its annotations."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(hooks="plugin")
