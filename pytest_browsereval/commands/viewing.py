"""``view``: the page of a run."""

from __future__ import annotations

import argparse
import webbrowser
from pathlib import Path

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import HELP, named_run
from pytest_browsereval.errors import UsageError


def view(arguments: argparse.Namespace) -> int:
    """Write the page of a run and say where it is."""
    from pytest_browsereval.report.viewer.writing import write_viewer

    run = named_run(arguments.run_name)
    try:
        written = write_viewer(run, arguments.output)
    except OSError as error:
        where = error.filename or arguments.output or run
        raise UsageError(f"{where} cannot be written: {error.strerror or error}.") from None
    damaged = f", {written.damaged} of them damaged" if written.damaged else ""
    print(f"{written.attempts} attempts{damaged}\n{written.file}", flush=True)
    if arguments.open:
        webbrowser.open(written.file.resolve().as_uri())
    return 0


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_name", metavar="RUN", help=HELP)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="the page; it shows pictures where they are, in the run's folder (default: index.html there)",
    )
    parser.add_argument("--open", action="store_true", help="open it in the browser")


COMMANDS = (Command("view", "write the page of a run, to look at its attempts", view, _arguments),)
