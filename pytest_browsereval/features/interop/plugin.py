"""Rows and runs of other systems: ``browsereval import`` and ``import-run``, and an export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.commands.base import Command
    from pytest_browsereval.registry import Registry
    from pytest_browsereval.run.foreign import ImportFormat


def pytest_browsereval_register(registry: Registry) -> None:
    """Register the export."""
    place = "pytest_browsereval.features.interop.online_mind2web:OnlineMind2WebExport"
    registry.announce("export", "online-mind2web", place)


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommands."""
    from pytest_browsereval.features.interop import command, import_command

    return (*import_command.COMMANDS, *command.COMMANDS)


def pytest_browsereval_run_formats() -> Sequence[ImportFormat]:
    """Return the formats that this package reads."""
    from pytest_browsereval.features.interop import browseros, webvoyager
    from pytest_browsereval.run.foreign import ImportFormat

    return tuple(ImportFormat(reader.KIND, reader.read_run) for reader in (browseros, webvoyager))
