"""``runs``: all runs of a results folder, or of a URL, over time."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.reporting import add_reports, refuse_unwritable, write_reports
from pytest_browsereval.commands.runs import RESULTS
from pytest_browsereval.errors import UsageError

if TYPE_CHECKING:
    from pytest_browsereval.features.runs.breaks import Break
    from pytest_browsereval.features.runs.digest import RunDigest
    from pytest_browsereval.features.runs.history import History
    from pytest_browsereval.model.remote import RemoteRuns

LISTED = 20
"""Runs that are listed unless somebody asks for more."""


def runs(arguments: argparse.Namespace) -> int:
    """List runs and write their page; the exit code is always 0."""
    from pytest_browsereval.features.runs.breaks import find_breaks
    from pytest_browsereval.features.runs.history import read_history
    from pytest_browsereval.features.runs.report import make_report

    given = arguments.folder
    remote = None
    if given is not None and "://" in given:
        from pytest_browsereval.features.runs.remote_history import read_remote

        remote = arguments.door.open_runs(given)
        history = read_remote(remote)
    else:
        history = read_history(Path(given) if given else find_results())
    breaks = find_breaks(history)
    listed = [run for run in history.runs if arguments.eval in (None, run.eval)]
    if not listed:
        names = ", ".join(sorted({run.eval for run in history.runs}))
        raise UsageError(f"{history.name} has no run of an eval {arguments.eval!r}. Name one of: {names}")
    written = _write_page(history, listed, breaks, arguments.output, remote)
    if written.problem:
        print(f"note: {written.problem}", file=sys.stderr)
    write_reports(arguments, make_report(listed, breaks, arguments.limit, written.lines))
    return 0


@dataclass(frozen=True)
class _Written:
    """What became of the page."""

    lines: tuple[str, ...] = ()
    problem: str = ""


def _write_page(
    history: History,
    listed: Sequence[RunDigest],
    breaks: Mapping[tuple[str, str], Break],
    asked: Path | None,
    remote: RemoteRuns | None,
) -> _Written:
    """Write the page; beside the runs, or at their URL, it is no error that it cannot be written.

    Raises:
        UsageError: it cannot be written where somebody asks for it.
    """
    from pytest_browsereval.config_text import format_path
    from pytest_browsereval.features.runs.page import RUNS_PAGE, make_page, write_page

    if remote is not None and asked is None:
        try:
            remote.write(RUNS_PAGE, make_page(history, listed, breaks, "").encode())
        except UsageError as error:
            return _Written(problem=f"the page was not written: {error}")
        return _Written((f"page: {remote.url}/{RUNS_PAGE}",))
    file = asked or (history.folder or Path()) / RUNS_PAGE
    try:
        with refuse_unwritable(file):
            write_page(history, listed, breaks, file)
    except UsageError as error:
        if asked is not None:
            raise
        return _Written(problem=str(error))
    return _Written((f"page: {format_path(file)}",))


def find_results() -> Path:
    """Return the results folder of the current folder, or the only one with runs further down.

    Raises:
        UsageError: there is none, or there are several.
    """
    from pytest_browsereval.config_text import format_path
    from pytest_browsereval.run.lookup import Runs

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

    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        help="the results folder, with the runs of evals in it, or its URL (default: results, here or "
        "further down)",
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
        "list all runs, newest first: pass rates, costs, gates, and where runs cannot be compared",
        runs,
        _arguments,
    ),
)
