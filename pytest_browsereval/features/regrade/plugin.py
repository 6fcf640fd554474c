"""``--eval-regrade`` and ``browsereval regrade``: stored attempts are graded again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_browsereval.commands.base import Command
    from pytest_browsereval.run.active import EarlierRun


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    add = parser.getgroup("browsereval").addoption
    add(
        "--eval-regrade",
        metavar="RUN",
        help="grade the stored attempts of this run again, and run no agent: its folder, its URL, its id, or "
        "'latest'",
    )
    add(
        "--eval-regrade-rows",
        choices=("stored", "current"),
        default="stored",
        help="let --eval-regrade use the answers, checks and rubrics that are stored in the run, or the "
        "current ones of the dataset (default: stored)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Wake up if the option is given, also where no argument names an eval: the session says so."""
    if config.getoption("eval_regrade") is not None:
        from pytest_browsereval.hooks.start import start

        start(config)


def pytest_browsereval_earlier_run(config: pytest.Config) -> EarlierRun | None:
    """Have the session grade the trials of the run that the option names."""
    from pytest_browsereval.features.regrade.conflicts import CONFLICTS
    from pytest_browsereval.hooks.conflicts import check_conflicts

    check_conflicts(config, CONFLICTS)
    run: str | None = config.getoption("eval_regrade")
    if run is None:
        return None
    from pytest_browsereval.features.regrade.trials import RegradedTrials
    from pytest_browsereval.run.active import EarlierRun

    is_current = config.getoption("eval_regrade_rows") == "current"
    return EarlierRun("regrade", run, partial(RegradedTrials, is_current=is_current))


def pytest_browsereval_commands() -> Sequence[Command]:
    """Return the subcommand."""
    from pytest_browsereval.features.regrade.command import COMMANDS

    return COMMANDS
