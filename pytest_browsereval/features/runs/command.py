"""``runs``: all runs of a results folder, or of a URL, over time; or what some of them were made of."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import RESULTS
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.named_runs import add_runs, find_named_runs
from pytest_browsereval.features.shared.reporting import add_reports, write_reports

if TYPE_CHECKING:
    from pytest_browsereval.features.runs.history import History

_NAMED = re.compile(r"/(latest|latest-on-[^/]+|parts/\d+-of-\d+)/?$")
"""In a URL of one run, or of a part of one."""

LISTED = 20
"""Runs that are listed unless someone asks for more."""


def runs(arguments: argparse.Namespace) -> int:
    """List all runs and write their page, or describe those that are named; 1 if one lacks something."""
    given: Sequence[str] = arguments.run_names
    if len(given) < 2 and arguments.last is None:
        with ExitStack() as stack:
            history = _read_history(arguments, given[0] if given else "", stack)
            if history is not None:
                return _list_runs(arguments, history)
    return _describe_runs(arguments)


def _list_runs(arguments: argparse.Namespace, history: History) -> int:
    """Report all runs, and write their page."""
    from pytest_browsereval.features.runs.breaks import find_breaks
    from pytest_browsereval.features.runs.page import write_page
    from pytest_browsereval.features.runs.report import make_report

    breaks = find_breaks(history.runs)
    listed = [run for run in history.runs if arguments.eval in (None, run.eval)]
    if not listed:
        names = ", ".join(sorted({run.eval for run in history.runs}))
        raise UsageError(f"{history.name} has no run of an eval {arguments.eval!r}. Name one of: {names}")
    notes = []
    try:
        notes.append(f"page: {write_page(history, listed, breaks, arguments.output)}")
    except UsageError as error:
        if arguments.output is not None:
            raise
        print(f"note: the page was not written: {error}", file=sys.stderr)
    write_reports(arguments, make_report(listed, breaks, arguments.limit, notes))
    return 0


def _read_history(arguments: argparse.Namespace, given: str, stack: ExitStack) -> History | None:
    """Return all runs at a place; None if that is the name of a run."""
    from pytest_browsereval.features.runs.history import NoRunError, read_history, read_remote
    from pytest_browsereval.run.lookup import is_run

    if "://" in given:
        if _NAMED.search(given):
            return None
        try:
            return stack.enter_context(read_remote(arguments.door.open_runs(given)))
        except NoRunError:
            home, _, name = given.rstrip("/").rpartition("/")
            if arguments.door.open_runs(home).find_parts(name).of:
                return None
            raise
    place = Path(given) if given else find_results(arguments.config)
    is_named = is_run(place, is_empty_allowed=True) or not (place.is_dir() or os.sep in given)
    return None if given and is_named else read_history(place)


def _describe_runs(arguments: argparse.Namespace) -> int:
    """Report what runs were made of, in what they differ, and how their tasks came out."""
    from pytest_browsereval.features.runs.description import describe
    from pytest_browsereval.features.runs.flakes import find_flakes
    from pytest_browsereval.features.runs.report import describe_runs
    from pytest_browsereval.features.shared.provenance import TIME, differences
    from pytest_browsereval.run.lookup import age
    from pytest_browsereval.runs.run import StoredRun
    from pytest_browsereval.runs.summary import list_judge_changes

    if arguments.eval or arguments.output:
        raise UsageError("--eval and -o are for the list of all runs. Leave them out, or name no run.")
    folders = find_named_runs(arguments, is_empty_allowed=True)
    found = [
        describe(StoredRun(folder, arguments.door), arguments.door.describe_run)
        for folder in sorted(folders, key=lambda folder: age(folder.resolve()))
    ]
    changes = []
    for before, after in pairwise(found):
        lines = list(differences(before.run.manifest, after.run.manifest, left_out=TIME).values())
        if before.summary and after.summary:
            lines += list_judge_changes(before.summary, after.summary)
        where = f"{before.run.name} -> {after.run.name}: " if len(found) > 2 else ""
        changes += [f"{where}{line}" for line in lines]
    flakes = find_flakes([one.run for one in found if one.summary])
    write_reports(arguments, describe_runs(found, changes, flakes))
    problems = [problem for one in found for problem in one.problems]
    for problem in problems:
        print(f"browsereval: {problem}", file=sys.stderr)
    return 1 if problems else 0


def find_results(config: Path | None = None) -> Path:
    """Return the results folder of a config, of the current folder, or the only one with runs further down.

    Raises:
        UsageError: there is none, or there are several.
    """
    from pytest_browsereval.config import load_place
    from pytest_browsereval.config_text import format_path
    from pytest_browsereval.run.lookup import Runs

    if config is not None and (place := load_place(config)) is not None:
        return place[0]
    found = Runs.near(RESULTS)
    places = sorted({home.parent for home in found.homes})
    if len(places) > 1:
        names = ", ".join(map(format_path, places))
        raise UsageError(
            f"{len(places)} results folders have runs: {names}. Name one: browsereval runs FOLDER"
        )
    return places[0] if places else RESULTS


def _arguments(parser: argparse.ArgumentParser) -> None:
    from pytest_browsereval.hooks.names import positive_integer

    add_runs(
        parser,
        "*",
        "to list runs: the results folder, or its URL (default: results, here or further down); to describe "
        "some: each ",
    )
    parser.add_argument("--eval", metavar="NAME", help="only the runs of this eval")
    parser.add_argument(
        "--limit",
        metavar="N",
        type=positive_integer,
        default=LISTED,
        help=f"list the newest N runs (default: {LISTED}); --json has them all",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="write the page there (default: runs.html in FOLDER)",
    )
    add_reports(parser)


COMMANDS = (
    Command(
        "runs",
        "list all runs; or describe some: what they were made of, how they differ, which tasks are flaky",
        runs,
        _arguments,
        group="look",
    ),
)
