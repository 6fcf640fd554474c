"""An orchestrator and its executors at a desk: each role has a script of its own, on one model server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from pytest_browsereval.door import builtin_registry
from pytest_browsereval.features.orchestrator.agent import OrchestratorExecutorConfig
from pytest_browsereval.llm.client import close_clients
from pytest_browsereval.model.messages import DelegationMessage, DelegationResultMessage, Message
from pytest_browsereval.model.results import AgentResult, ExecutorRecord
from pytest_browsereval.testing import ModelRequest, Reply, ScriptedModel, call, calls, refuses
from tests.agents.desk import Desk

LEAD, HAND = "lead", "hand"
"""The names of the two models."""

PRICES = {"input_per_mtok": 10, "output_per_mtok": 0}


def delegates(*instructions: str) -> Reply:
    """Return a reply that delegates goals, all at once."""
    return calls(*(call("delegate", instruction=each) for each in instructions))


def pair_config(**fields: Any) -> OrchestratorExecutorConfig:
    """Return a block, read as a file is."""
    block = {"orchestrator": {"model": LEAD, "base_url": "http://127.0.0.1:9/v1"}, **fields}
    return OrchestratorExecutorConfig.model_validate(block, context={"registry": builtin_registry()})


class Pair:
    """Runs attempts, and tells what they left behind."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.requests: dict[str, list[ModelRequest]] = {LEAD: [], HAND: []}

    def solve(
        self, lead: Sequence[Reply], hand: Sequence[Reply] = (), *, executor: Any = None, **fields: Any
    ) -> AgentResult:
        """Run an attempt; a script that is over refuses further requests."""
        scripts = {LEAD: list(lead), HAND: list(hand)}

        def answer(request: ModelRequest) -> Reply:
            model = request.body["model"]
            self.requests[model].append(request)
            return scripts[model].pop(0) if scripts[model] else refuses(400, f"the script of {model} is over")

        with ScriptedModel(answer) as server:
            base = {"base_url": server.base_url, "prices": PRICES}
            fields["orchestrator"] = {"model": LEAD, **base, **fields.get("orchestrator", {})}
            fields["executor"] = {"model": HAND, **base} if executor is None else executor
            return asyncio.run(self._attempt(pair_config(**fields)))

    async def _attempt(self, config: OrchestratorExecutorConfig) -> AgentResult:
        context = self.desk.context(config)
        config.check(context.task, {tool.name: tool for tool in context.tools.tools})
        try:
            return await config.build(context).execute()
        finally:
            await close_clients()

    @property
    def messages(self) -> tuple[Message, ...]:
        """The log."""
        return self.desk.capture.messages.messages

    @property
    def delegations(self) -> list[DelegationMessage]:
        """What was delegated."""
        return [m for m in self.messages if isinstance(m, DelegationMessage)]

    @property
    def results(self) -> list[DelegationResultMessage]:
        """What came of it."""
        return [m for m in self.messages if isinstance(m, DelegationResultMessage)]

    @property
    def statuses(self) -> list[tuple[str, int]]:
        """Status and steps of each delegation."""
        return [(m.status, m.steps_used) for m in self.results]

    def told(self, number: int = -1) -> str:
        """Return the last message of a request of the orchestrator's."""
        return self.requests[LEAD][number].last_text

    def record(self, number: int = 1) -> ExecutorRecord:
        """Return what was stored of an executor."""
        text = (self.desk.folder / "executors" / f"executor-{number}.json").read_text(encoding="utf-8")
        return ExecutorRecord.model_validate(json.loads(text))
