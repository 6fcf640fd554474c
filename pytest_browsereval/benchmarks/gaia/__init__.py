"""GAIA: short answers, compared as the benchmark compares them."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={"dataset": {"gaia gaia-web": "dataset:GaiaConfig"}, "grader": {"gaia": "grader:GaiaGrader"}}
)
