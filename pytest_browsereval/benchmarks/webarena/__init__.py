"""WebArena and VisualWebArena: what answers, addresses, pages and pictures have to hold."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={
        "dataset": {
            "webarena webarena-lite": "dataset:WebArenaConfig",
            "webarena-verified": "verified.dataset:WebArenaVerifiedConfig",
            "visualwebarena": "dataset:VisualWebArenaConfig",
            "webchorearena": "dataset:WebChoreArenaConfig",
        },
        "grader": {
            "webarena": "grader:WebArenaGrader",
            "webarena_verified": "verified.grader:WebArenaVerifiedGrader",
        },
    }
)
