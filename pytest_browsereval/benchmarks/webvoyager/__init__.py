"""WebVoyager: tasks on real sites, judged from pictures."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={
        "dataset": {"webvoyager": "dataset:WebVoyagerConfig"},
        "grader": {"webvoyager webvoyager_grader": "grader:WebVoyagerGrader"},
    }
)
