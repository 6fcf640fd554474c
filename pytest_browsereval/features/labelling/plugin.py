"""``browsereval label`` and ``calibrate``: people judge attempts, and graders are compared with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from pytest_browsereval.commands.base import Command


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Have runs whose config names a calibration report corrected pass rates."""
    from pytest_browsereval.hooks.names import is_worker

    if is_worker(config):
        return
    from pytest_browsereval.features.labelling.correction import Corrections
    from pytest_browsereval.hooks.controller import controller_key

    config.stash[controller_key].parts["labelling"] = Corrections()


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommands."""
    from pytest_browsereval.features.labelling.command import COMMANDS

    return COMMANDS
