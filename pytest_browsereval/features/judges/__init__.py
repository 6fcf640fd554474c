"""Graders that ask a model how an attempt was done."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={
        "grader": {
            "llm": "llm:LLMGrader",
            "rubric": "rubric:RubricGrader",
            "trajectory_score": "trajectory_score:TrajectoryScoreGrader",
            "performance performance_grader": "performance:PerformanceGrader",
            "fara_alignment": "fara:FaraAlignmentGrader",
            "fara_rubric": "fara:FaraRubricGrader",
            "fara_multimodal": "fara:FaraMultimodalGrader",
            "fara_combined fara_grader fara": "fara:FaraCombinedGrader",
        }
    },
    hooks="environment",
)
