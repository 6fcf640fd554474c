"""``browsereval label`` and ``calibrate``: people judge attempts, and graders are compared with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.commands.base import Command


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommands."""
    from pytest_browsereval.features.labelling.command import COMMANDS

    return COMMANDS
