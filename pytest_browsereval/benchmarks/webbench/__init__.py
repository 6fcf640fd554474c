"""WebBench: tasks that read and write on popular sites."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(members={"dataset": {"webbench": "dataset:WebBenchConfig"}})
