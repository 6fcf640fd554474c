"""``agent: {type: orchestrator-executor}``: an agent that delegates to another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register the agent; it is imported when a config names it."""
    place = f"{__package__}.agent:OrchestratorExecutorConfig"
    registry.announce("agent", "orchestrator-executor", place, aliases=("orchestrated",))
