"""Effects: what an attempt has changed in the state of its sites, and nothing else."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={
        "grader": {"effects": "grader:EffectsGrader"},
        "rule": {"max_side_effects": "figures:MaxSideEffectsRule"},
    },
    keys=(("sites", "state"),),
    hooks="plugin",
)
