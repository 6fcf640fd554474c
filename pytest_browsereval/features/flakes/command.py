"""``flakes``: tasks that do not come out alike over several runs."""

from __future__ import annotations

import argparse
from itertools import islice

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.reporting import add_reports, tell
from pytest_browsereval.commands.runs import HELP, add_config, find_runs
from pytest_browsereval.errors import UsageError


def flakes(arguments: argparse.Namespace) -> int:
    """Report the flaky tasks; the exit code is always 0."""
    from pytest_browsereval.features.flakes import report
    from pytest_browsereval.features.flakes.flakes import flakes as flakes_of
    from pytest_browsereval.features.flakes.flakes import read_trials
    from pytest_browsereval.run.lookup import earlier

    runs = find_runs(arguments.run_names, arguments.config, with_files=False)
    if arguments.last is not None:
        if len(runs) != 1:
            raise UsageError(f"--last adds earlier runs to one run, and {len(runs)} are named. Name one.")
        runs += islice(earlier(runs[0]), arguments.last)
        if len(runs) == 1:
            raise UsageError(f"{runs[0]} has no earlier run of its config beside it. Leave --last out.")
    # Its trials would count as repeats that agree.
    if len({run.resolve() for run in runs}) < len(runs):
        raise UsageError("a run is named twice. Name each once.")
    found = flakes_of(read_trials(run) for run in runs)
    tell(
        arguments,
        text=lambda: "\n".join(report.text(found)) + "\n",
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
        "flakes",
        "list the tasks whose results differ over several runs, worst first",
        flakes,
        _arguments,
    ),
)
