"""WebTailBench: tasks of the long tail, with rubrics."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(members={"dataset": {"webtailbench": "dataset:WebTailBenchConfig"}})
