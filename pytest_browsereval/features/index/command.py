"""``reindex``: the index of a run, made again."""

from __future__ import annotations

import argparse

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import HELP, add_config, find_runs


def reindex(arguments: argparse.Namespace) -> int:
    """Index runs and say how many attempts each has."""
    from pytest_browsereval.run.store import RunStore

    for run in find_runs(arguments.run_names, arguments.config, is_changed=True):
        print(f"{run}: {RunStore(run).reindex()} attempts indexed", flush=True)
    return 0


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_names", metavar="RUN", nargs="+", help=HELP)
    add_config(parser)


COMMANDS = (Command("reindex", "make the index of a run again, from its records", reindex, _arguments),)
