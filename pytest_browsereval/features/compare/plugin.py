"""Runs compared with earlier ones: ``--eval-baseline``, rules of a gate, and commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_browsereval.hooks.names import is_worker

if TYPE_CHECKING:
    from pytest_browsereval.commands.base import Command


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option; the session gives it to the gate as well."""
    parser.getgroup("browsereval").addoption(
        "--eval-baseline",
        metavar="RUN",
        help="compare with an earlier run, in the gate too: its folder, its URL, its id, 'latest', "
        "'latest-on-main' or another branch, or a baseline file",
    )


def pytest_browsereval_start(config: pytest.Config) -> None:
    """Decide rules that compare; show the comparison if the option is given."""
    if is_worker(config):
        return
    from pytest_browsereval.features.compare.hooks import Baselines, Comparing
    from pytest_browsereval.hooks.controller import controller_key

    controller = config.stash[controller_key]
    controller.parts["compare"] = Baselines()
    if config.getoption("eval_baseline") is not None:
        config.pluginmanager.register(Comparing(controller), "browsereval-comparing")


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommands."""
    from pytest_browsereval.features.compare import command, gate_command

    return (*command.COMMANDS, *gate_command.COMMANDS)
