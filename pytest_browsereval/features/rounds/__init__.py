"""Trials in rounds: each task is repeated only while the gate or a comparison of variants is undecided."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(keys=(("trials",),), hooks="plugin")
