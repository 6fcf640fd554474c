"""``browsereval cluster`` and ``supervise``: the parts of a run on a cluster, and what ends them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.commands.base import Command


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommands."""
    from pytest_browsereval.features.cluster import command, supervise_command

    return (*command.COMMANDS, *supervise_command.COMMANDS)
