"""``causes``: why the attempts of runs did not pass."""

from __future__ import annotations

import argparse
from itertools import islice

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.reporting import add_reports, tell
from pytest_browsereval.commands.runs import HELP, add_config, find_runs
from pytest_browsereval.errors import UsageError


def causes(arguments: argparse.Namespace) -> int:
    """Report the groups; the exit code is always 0."""
    from pytest_browsereval.analysis.reader import StoredRun
    from pytest_browsereval.features.causes import report
    from pytest_browsereval.features.causes.groups import group_causes
    from pytest_browsereval.run.lookup import age, earlier

    runs = find_runs(arguments.run_names, arguments.config, with_files=False)
    if arguments.last is not None:
        if len(runs) != 1:
            raise UsageError(f"--last adds earlier runs to one run, and {len(runs)} are named. Name one.")
        runs += islice(earlier(runs[0]), arguments.last)
    if len({run.resolve() for run in runs}) < len(runs):
        raise UsageError("a run is named twice. Name each once.")
    found = group_causes([StoredRun(run) for run in sorted(runs, key=lambda run: age(run.resolve()))])
    tell(
        arguments,
        text=lambda: "\n".join(report.text(found)).rstrip() + "\n",
        content=found.as_json,
        markdown=lambda: report.markdown(found),
    )
    return 0


def _arguments(parser: argparse.ArgumentParser) -> None:
    from pytest_browsereval.hooks.names import positive_integer

    parser.add_argument("run_names", metavar="RUN", nargs="+", help=HELP)
    add_config(parser)
    parser.add_argument(
        "--last",
        metavar="N",
        type=positive_integer,
        help="include the N runs of the same config before it",
    )
    add_reports(parser)


COMMANDS = (
    Command(
        "causes",
        "group the attempts that did not pass by their cause, and name the first wrong step of each",
        causes,
        _arguments,
    ),
)
