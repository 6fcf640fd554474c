"""``agent: {type: function}``: a function of the user as an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register the agent; it is imported when a config names it."""
    registry.announce("agent", "function", f"{__package__}.agent:FunctionConfig")
