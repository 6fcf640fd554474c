"""Rows and runs of other systems: ``browsereval import``, ``import-run`` and ``export``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.commands.base import Command
    from pytest_browsereval.run.foreign import ExportFormat, ImportFormat


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommands."""
    from pytest_browsereval.features.interop import command, import_command

    return (*import_command.COMMANDS, *command.COMMANDS)


def pytest_browsereval_run_formats() -> Sequence[ImportFormat | ExportFormat]:
    """Return the formats that this package reads and writes."""
    from pytest_browsereval.features.interop import browseros, online_mind2web, webvoyager
    from pytest_browsereval.features.interop.online_mind2web_writer import write_run
    from pytest_browsereval.run.foreign import ExportFormat, ImportFormat

    readers = (browseros, online_mind2web, webvoyager)
    return (
        *(ImportFormat(reader.KIND, reader.read_run) for reader in readers),
        ExportFormat(online_mind2web.KIND, write_run),
    )
