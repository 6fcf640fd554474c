"""WebArena-Infinity: verifiers of generated apps, run on the state that was recorded."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={
        "dataset": {"infinity webarena-infinity": "dataset:InfinityConfig"},
        "grader": {"infinity infinity_state": "grader:InfinityGrader"},
    }
)
