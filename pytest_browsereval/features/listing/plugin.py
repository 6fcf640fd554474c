"""``browsereval tools``, ``providers`` and ``schema``: what there is to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.commands.base import Command


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommands."""
    from pytest_browsereval.features.listing import command, tools_command

    return (*command.COMMANDS, *tools_command.COMMANDS)
