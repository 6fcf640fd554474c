"""``reindex``: the index of a run, made again."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import HELP, add_config, find_runs
from pytest_browsereval.errors import UsageError


def reindex(arguments: argparse.Namespace) -> int:
    """Index runs and say how many attempts each has."""
    for run in find_runs(arguments.door, arguments.run_names, arguments.config, is_changed=True):
        print(f"{run}: {reindex_run(run)} attempts indexed", flush=True)
    return 0


def reindex_run(run: Path) -> int:
    """Make the index of a run again and return how many attempts it has.

    Raises:
        UsageError: a file is damaged, a process writes the run, or the index cannot be written.
    """
    from pytest_browsereval.run import reading
    from pytest_browsereval.run.store import RunStore

    store = RunStore(run)
    store.check_version()
    store.check_idle()
    try:
        return sum(1 for _ in reading.index_digests(run, is_needed=True))
    except OSError as error:
        raise UsageError(f"the index of {run} cannot be written: {error}.") from None


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_names", metavar="RUN", nargs="+", help=HELP)
    add_config(parser)


COMMANDS = (Command("reindex", "make the index of a run again, from its records", reindex, _arguments),)
