"""The runs that a command is about: those that are named, and earlier ones of the same config."""

from __future__ import annotations

import argparse
from itertools import islice
from pathlib import Path

from pytest_browsereval.commands.runs import HELP, add_config, find_runs
from pytest_browsereval.errors import UsageError


def add_runs(parser: argparse.ArgumentParser, nargs: str = "+", more: str = "") -> None:
    """Add the names of runs, where they are looked up, and how many earlier ones are meant too.

    Args:
        parser: of a command.
        nargs: how many names there are, as argparse has it.
        more: what else is named in the same place.
    """
    from pytest_browsereval.hooks.names import positive_integer

    parser.add_argument("run_names", metavar="RUN", nargs=nargs, help=f"{more}{HELP}")
    add_config(parser)
    parser.add_argument(
        "--last", metavar="N", type=positive_integer, help="include the N runs of the same config before it"
    )


def find_named_runs(arguments: argparse.Namespace, *, is_empty_allowed: bool = False) -> list[Path]:
    """Return the folders of the runs, without pictures and other files of attempts.

    Args:
        arguments: of ``add_runs``.
        is_empty_allowed: whether runs count that were ended before their first attempt.

    Raises:
        UsageError: one is not there or named twice, or there is none before it.
    """
    from pytest_browsereval.run.lookup import earlier

    runs = find_runs(
        arguments.door,
        arguments.run_names,
        arguments.config,
        is_empty_allowed=is_empty_allowed,
        with_files=False,
    )
    if arguments.last is not None:
        if len(runs) != 1:
            raise UsageError(f"--last adds earlier runs to one run, and {len(runs)} are named. Name one.")
        runs += islice(earlier(runs[0]), arguments.last)
        if len(runs) == 1:
            raise UsageError(f"{runs[0]} has no earlier run of its config next to it. Leave --last out.")
    # Its trials would count as repeats that agree.
    if len({run.resolve() for run in runs}) < len(runs):
        raise UsageError("a run is named twice. Name each once.")
    return runs
