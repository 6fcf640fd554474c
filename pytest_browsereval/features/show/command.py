"""``show``: what a run was made of, or in what two runs differ."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.reporting import add_reports, write_reports
from pytest_browsereval.commands.runs import HELP, add_config, find_run
from pytest_browsereval.errors import UsageError

if TYPE_CHECKING:
    from pytest_browsereval.features.show.description import RunDescription


def show(arguments: argparse.Namespace) -> int:
    """Show what a run was made of; 1 if a file of it cannot be read in full."""
    from pytest_browsereval.features.show.description import describe
    from pytest_browsereval.features.show.report import make_comparison, make_report

    door, given = arguments.door, filter(None, (arguments.run_name, arguments.other))
    runs = [
        describe(door, find_run(door, one, arguments.config, is_empty_allowed=True, with_files=False))
        for one in given
    ]
    problems = [problem for run in runs for problem in run.problems]
    report = make_report(runs[0])
    if len(runs) > 1:
        a, b = runs
        report = make_comparison(a, b, _differences(a, b, problems))
    write_reports(arguments, report)
    for problem in problems:
        print(f"browsereval: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _differences(a: RunDescription, b: RunDescription, problems: list[str]) -> list[str]:
    """Return in what two runs differ, graders by their fingerprints; adds why these cannot be compared."""
    from pytest_browsereval.features.outcomes import judge_differences, read_outcomes
    from pytest_browsereval.run.provenance import all_differences

    differences = [*all_differences(a.manifest, b.manifest)]
    try:
        differences += judge_differences(read_outcomes(a.folder), read_outcomes(b.folder))
    except UsageError as error:
        problems.append(f"the graders are not compared: {error}")
    return differences


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_name", metavar="RUN", help=HELP)
    parser.add_argument("other", metavar="OTHER", nargs="?", help="another run: show how the two differ")
    add_config(parser)
    add_reports(parser)


COMMANDS = (
    Command(
        "show",
        "show the config, data and versions of a run, or how two runs differ",
        show,
        _arguments,
    ),
)
