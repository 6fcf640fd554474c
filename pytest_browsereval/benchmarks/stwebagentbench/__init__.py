"""ST-WebAgentBench: tasks on business apps, each with policies that an agent has to keep."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(members={"dataset": {"st-webagentbench": "dataset:STWebAgentBenchConfig"}})
