"""The `orchestrator-executor` agent: one model plans and delegates, another one acts."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={"agent": {"orchestrator-executor orchestrated": "agent:OrchestratorExecutorConfig"}}
)
