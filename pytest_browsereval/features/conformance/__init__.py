"""Suites that agents, browsers, toolkits and tools of plug-ins pass; ``testing`` shows their public names."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature()
