"""What the package brings: one agent, one grader, one toolkit."""

from __future__ import annotations

from acme_plugin.clicker import ClickerConfig
from acme_plugin.notes import NotesConfig
from acme_plugin.politeness import PolitenessConfig
from pytest_browsereval import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Hand the members over."""
    registry.register(ClickerConfig)
    registry.register(PolitenessConfig)
    registry.register(NotesConfig)
