"""Registers the members of this benchmark."""

from __future__ import annotations

from pytest_browsereval.benchmarks.wasp.reader import WaspReader
from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register what this folder brings; each is imported when a config or a row names it."""
    registry.announce("dataset", "wasp", f"{__package__}.dataset:WaspConfig")
    registry.announce("attack", "wasp", f"{__package__}.attack:WaspAttack")
    registry.add_reader(WaspReader())
