"""The page of each run, and ``browsereval view``, which writes it again or as one file to send."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_browsereval.hooks.names import is_worker

if TYPE_CHECKING:
    from pytest_browsereval.commands.base import Command


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Write the page of each run once its summary is there."""
    if is_worker(config):
        return
    from pytest_browsereval.features.view.hooks import Viewing

    config.pluginmanager.register(Viewing(), "browsereval-viewing")


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommands."""
    from pytest_browsereval.features.view.command import COMMANDS

    return COMMANDS
