"""AssistantBench: how close an answer is to the reference."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={
        "dataset": {"assistantbench": "dataset:AssistantBenchConfig"},
        "grader": {"assistantbench": "grader:AssistantBenchGrader"},
    }
)
