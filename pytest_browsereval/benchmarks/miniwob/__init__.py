"""MiniWoB++: small pages that score their own episodes."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={"dataset": {"miniwob": "dataset:MiniwobConfig"}, "grader": {"miniwob": "grader:MiniwobGrader"}}
)
