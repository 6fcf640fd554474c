"""Mind2Web and Online-Mind2Web: tasks on real sites, judged from pictures and actions."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={
        "dataset": {
            "online-mind2web": "online_dataset:OnlineMind2WebConfig",
            "mind2web": "dataset:Mind2WebConfig",
        },
        "grader": {"mind2web mind2web_judge mind2web_grader": "grader:Mind2WebGrader"},
    }
)
