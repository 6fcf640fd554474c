"""What the package brings: an agent, a grader, a toolkit, a gate rule, an export, a subcommand."""

from __future__ import annotations

from acme_plugin.clicker import ClickerConfig
from acme_plugin.counting import COMMAND, StepsExport
from acme_plugin.notes import NotesConfig
from acme_plugin.politeness import PolitenessConfig
from acme_plugin.steps import StepsRule
from pytest_browsereval import Command, Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Hand the members over."""
    registry.register(ClickerConfig)
    registry.register(PolitenessConfig)
    registry.register(NotesConfig)
    registry.register(StepsRule)
    registry.register(StepsExport)


def pytest_browsereval_commands() -> tuple[Command, ...]:
    """Return the subcommand: ``browsereval acme-steps RUN``."""
    return (COMMAND,)
