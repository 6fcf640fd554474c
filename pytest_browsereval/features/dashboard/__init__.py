"""The dashboard: the viewer of a running run, served to this machine."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(hooks="plugin")
