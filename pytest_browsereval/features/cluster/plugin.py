"""``browsereval supervise``: a part of a run ends with what has started it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.commands.base import Command


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommand."""
    from pytest_browsereval.features.cluster import supervise_command

    return supervise_command.COMMANDS
