"""``flakes``: tasks that do not come out alike over several runs."""

from __future__ import annotations

import argparse

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.reporting import add_reports, write_reports
from pytest_browsereval.features.named_runs import add_runs, find_named_runs


def flakes(arguments: argparse.Namespace) -> int:
    """Report the flaky tasks; the exit code is always 0."""
    from pytest_browsereval.features.flakes.flakes import find_flakes, read_trials
    from pytest_browsereval.features.flakes.report import make_report

    runs = map(read_trials, find_named_runs(arguments))
    write_reports(arguments, make_report(find_flakes(runs)))
    return 0


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_runs(parser)
    add_reports(parser)


COMMANDS = (
    Command(
        "flakes",
        "list the tasks whose results differ over several runs, worst first",
        flakes,
        _arguments,
    ),
)
