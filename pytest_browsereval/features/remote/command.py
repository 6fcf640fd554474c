"""``push`` and ``pull``: runs to a URL and back."""

from __future__ import annotations

import argparse
from pathlib import Path

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import HELP, add_config, find_run


def push(arguments: argparse.Namespace) -> int:
    """Put a run at a URL and say where it is."""
    from pytest_browsereval.analysis.parts import lacking
    from pytest_browsereval.errors import UsageError
    from pytest_browsereval.features.remote.push_pull import Push
    from pytest_browsereval.runs.run import StoredRun

    name, config = arguments.run_name, arguments.config
    run = find_run(arguments.door, name, config, is_empty_allowed=True, is_changed=True)
    pushed = Push.of_run(run, arguments.url, arguments.name)
    pushed.part.bucket.check_conditions()
    if incomplete := lacking(StoredRun(run)):  # what is done does not change: nor by a resume
        pushed.send()
        why = f"not complete: {incomplete.message}. Resume it, then push it again."
        raise UsageError(f"sent to {pushed.url}, but {why}")
    count, shard = pushed.finish(), pushed.part.shard
    part = f", part {shard}" if shard.of > 1 else ""
    print(f"{count} objects{part}: {pushed.url}", flush=True)
    return 0


def pull(arguments: argparse.Namespace) -> int:
    """Bring a run from a URL into a new folder."""
    from pytest_browsereval.features.remote.push_pull import pull_run

    pull_run(arguments.door.find_url(arguments.url), arguments.output)
    print(arguments.output, flush=True)
    return 0


def _push_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_name", metavar="RUN", help=HELP)
    parser.add_argument("url", metavar="URL", help="the folder of all runs, such as s3://bucket/evals")
    add_config(parser)
    parser.add_argument("--name", help="the run's name there: the same for all its shards; by default its id")


def _pull_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="the URL of a run or one part")
    parser.add_argument("-o", "--output", metavar="FOLDER", type=Path, required=True, help="the new folder")


COMMANDS = (
    Command(
        "push",
        "put a run at a URL, where other machines and commands read it",
        push,
        _push_arguments,
        group="machines",
    ),
    Command("pull", "bring a run from a URL into a folder", pull, _pull_arguments, group="machines"),
)
