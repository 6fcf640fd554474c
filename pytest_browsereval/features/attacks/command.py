"""``attacks``: what the attempts of a run under attack came to, and what differs from another agent's."""

from __future__ import annotations

import argparse

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import HELP, add_config, find_run
from pytest_browsereval.features.shared.reporting import add_reports, write_reports


def attacks(arguments: argparse.Namespace) -> int:
    """Report the figures; the exit code is always 0."""
    from pytest_browsereval.analysis.evidence import check_contradictions, check_run
    from pytest_browsereval.features.attacks.comparison import Side, compare_sides
    from pytest_browsereval.features.attacks.report import make_report
    from pytest_browsereval.runs.run import StoredRun

    def read(name: str, variant: str | None) -> Side:
        run = StoredRun(find_run(arguments.door, name, arguments.config, with_files=False))
        check_run(run)
        check_contradictions(run)
        return Side(run, variant)

    own, other = arguments.variants or (None, None)
    second, compared = read(arguments.run_name, other), None
    if arguments.against is not None or own is not None:
        compared = compare_sides(read(arguments.against or arguments.run_name, own), second)
    write_reports(arguments, make_report(second.figures, compared))
    return 0


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_name", metavar="RUN", help=HELP)
    add_config(parser)
    parser.add_argument(
        "--against",
        metavar="RUN",
        help="compare RUN with this one, under the same attacks: another agent, or without a guard",
    )
    parser.add_argument(
        "--variants",
        metavar=("A", "B"),
        nargs=2,
        help="compare variant A with variant B of the run; with --against, A is a variant of that run",
    )
    add_reports(parser)


COMMANDS = (
    Command(
        "attacks",
        "report how often attacks on an agent succeeded, and compare two agents under the same attacks",
        attacks,
        _arguments,
        group="compare",
    ),
)
