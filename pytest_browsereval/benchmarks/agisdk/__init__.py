"""REAL: checks of the final state of a clone of a well-known site."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={
        "dataset": {"agisdk real": "dataset:AgisdkConfig"},
        "grader": {"agisdk agisdk_state_diff": "grader:AgisdkGrader"},
    }
)
