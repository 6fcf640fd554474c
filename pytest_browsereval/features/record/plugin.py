"""``browsereval record``: a person does a task in a window, and a row of a dataset comes out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.commands.base import Command


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommand."""
    from pytest_browsereval.features.record.command import COMMANDS

    return COMMANDS
