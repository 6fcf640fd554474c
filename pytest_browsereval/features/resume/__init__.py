"""Runs that were interrupted, resumed in their folders."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(hooks="plugin")
