"""The ``noop`` agent: does nothing. What it passes, an agent need not be able to do anything for."""

from __future__ import annotations

from typing import Literal

from pytest_browsereval.agents.base import AgentConfig, AgentContext, AgentEvaluator
from pytest_browsereval.model.results import AgentResult


class NoopConfig(AgentConfig):
    """Ends at once, without an answer."""

    type: Literal["noop"] = "noop"

    def build(self, context: AgentContext) -> AgentEvaluator:
        """Return the evaluator of one attempt."""
        return NoopAgent()


class NoopAgent(AgentEvaluator):
    """One attempt without any action."""

    async def execute(self) -> AgentResult:
        """Return no answer."""
        return AgentResult(None)
