"""``compare``: two runs task by task."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import HELP_OF_BASELINE, add_config
from pytest_browsereval.errors import ConfigError, UsageError
from pytest_browsereval.features.compare.lookup import find_baseline
from pytest_browsereval.features.shared.reporting import add_reports, refuse_unwritable, write_reports

_HOW = (
    "pytest makes a run and prints its folder at the end. To compare two models, make a run with each: "
    "`pytest --eval-set agent.model=gpt-4o`. An agent that is your own function names its model itself."
)


def compare(arguments: argparse.Namespace) -> int:
    """Compare two runs; the exit code is always 0."""
    from pytest_browsereval.features.compare.baseline import read_run
    from pytest_browsereval.features.compare.compare import compare as compare_runs
    from pytest_browsereval.features.compare.report import make_report

    with_files = arguments.html is not None
    try:
        first, second = (
            find_baseline(arguments.door, given, arguments.config, with_files=with_files)
            for given in (arguments.a, arguments.b)
        )
    except ConfigError as error:
        raise UsageError(f"{error} {_HOW}") from None
    found = compare_runs(
        read_run(first), read_run(second), margin=arguments.margin, variants=arguments.variants
    )
    if arguments.html is not None:
        if arguments.html in (arguments.json, arguments.markdown):
            raise UsageError(f"--html and another report are both {arguments.html}. Name two files.")
        from pytest_browsereval.features.compare.page import write_comparison

        with refuse_unwritable(arguments.html):
            write_comparison(arguments.door, found, arguments.html)
    write_reports(arguments, make_report(found))
    return 0


def _margin(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1; 0.05 is 5 points")
    return value


_margin.__name__ = "number"  # as argparse names it


def _two(text: str) -> tuple[str, str]:
    first, equals, second = text.partition("=")
    if not (first and equals and second):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=NAME: a variant of A and one of B")
    return first, second


def _compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("a", metavar="A", help=f"the baseline: {HELP_OF_BASELINE}")
    parser.add_argument("b", metavar="B", help="the run to compare with A, named in the same way")
    add_config(parser)
    parser.add_argument(
        "--margin",
        metavar="X",
        type=_margin,
        default=0.05,
        help="how much lower B's pass rate may be while B counts as not worse (default: 0.05, 5 points)",
    )
    parser.add_argument(
        "--variants", metavar="A=B", type=_two, help="compare variant A of run A with variant B of run B"
    )
    parser.add_argument(
        "--html",
        metavar="FILE",
        type=Path,
        help="write a page with both attempts of each task side by side, and a folder with its details",
    )
    add_reports(parser)


COMMANDS = (
    Command(
        "compare",
        "compare two runs task by task: which one is better, and how certain that is",
        compare,
        _compare_arguments,
        group="compare",
    ),
)
