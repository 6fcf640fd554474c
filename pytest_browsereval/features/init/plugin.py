"""``browsereval init``: write a first eval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.commands.base import Command


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommand."""
    from pytest_browsereval.features.init.command import COMMANDS

    return COMMANDS
