"""``causes``: why the attempts of runs did not pass."""

from __future__ import annotations

import argparse
from dataclasses import replace

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.reporting import add_reports, write_reports
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.named_runs import add_runs, find_named_runs


def causes(arguments: argparse.Namespace) -> int:
    """Report the groups; the exit code is always 0."""
    from pytest_browsereval.features.causes.groups import group_causes
    from pytest_browsereval.features.causes.report import make_report
    from pytest_browsereval.run.lookup import age
    from pytest_browsereval.runs.run import StoredRun

    door = arguments.door
    runs = sorted(find_named_runs(arguments), key=lambda run: age(run.resolve()))
    found = group_causes([StoredRun(run, door) for run in runs])
    if arguments.explain:
        from pytest_browsereval.features.causes.judging import name_groups

        if arguments.config is None:
            raise UsageError("--explain asks the judge of a config. Name it by --config FILE.")
        run, registry = found.runs[-1].folder, door.load_registry()
        names = name_groups(registry, found, run, arguments.config, arguments.judge_set)
        found = replace(found, names=names)
    elif arguments.judge_set:
        raise UsageError("--judge-set is about the judge that --explain asks. Add --explain.")
    write_reports(arguments, make_report(found))
    return 0


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_runs(parser)
    parser.add_argument(
        "--explain",
        action="store_true",
        help="also ask the judge of --config for a name of each group, which costs a little",
    )
    parser.add_argument(
        "--judge-set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="with --explain, override a key of the judge: model=gpt-5 (repeatable)",
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
