"""Registers the members of this benchmark."""

from __future__ import annotations

from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register what this folder brings; each is imported when a config or a row names it."""
    registry.announce("dataset", "st-webagentbench", f"{__package__}.dataset:STWebAgentBenchConfig")
