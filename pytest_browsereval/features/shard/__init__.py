"""One part of a run, on one of several machines."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(hooks="plugin")
