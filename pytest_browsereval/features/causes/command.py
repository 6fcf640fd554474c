"""``causes``: why the attempts of runs did not pass."""

from __future__ import annotations

import argparse

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import note_edited
from pytest_browsereval.features.shared.named_runs import add_runs, find_named_runs
from pytest_browsereval.features.shared.reporting import add_reports, write_reports


def causes(arguments: argparse.Namespace) -> int:
    """Report the groups; 1 if records of a run were edited later."""
    from pytest_browsereval.features.causes.report import make_report
    from pytest_browsereval.run.lookup import age
    from pytest_browsereval.runs.run import StoredRun

    folders = sorted(find_named_runs(arguments), key=lambda folder: age(folder.resolve()))
    runs = [StoredRun(folder, arguments.door) for folder in folders]
    write_reports(arguments, make_report(runs))
    return int(note_edited(runs))


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_runs(parser)
    add_reports(parser)


COMMANDS = (
    Command(
        "causes",
        "group the attempts that did not pass by their cause, and name the first wrong step of each",
        causes,
        _arguments,
        group="look",
    ),
)
