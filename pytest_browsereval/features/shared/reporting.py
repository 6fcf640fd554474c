"""Reports, as all commands write them: on the terminal, as JSON and as Markdown."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.display import format_json

if TYPE_CHECKING:
    from pytest_browsereval.report.report import Report

STANDARD_OUTPUT = Path("-")

OF_USERS = frozenset((".csv", ".jsonl", ".py", ".toml", ".yaml", ".yml"))
OF_RUNS = frozenset(("manifest.json", "summary.json"))
"""What a report never takes the place of: suffixes of configs, datasets and code; files of a run."""


def add_reports(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the files of reports."""
    for name, what in (
        ("json", "all figures as JSON"),
        ("markdown", "a report as Markdown, for example for a pull request"),
    ):
        parser.add_argument(
            f"--{name}",
            metavar="FILE",
            nargs="?",
            const=STANDARD_OUTPUT,
            type=Path,
            help=f"write {what}; without FILE, or with -, to standard output",
        )


def write_reports(arguments: argparse.Namespace, report: Report) -> None:
    """Write the reports that are asked for; ``-`` gives one the place of the terminal's own.

    Args:
        arguments: of ``add_reports``.
        report: what there is to report.

    Raises:
        UsageError: a file cannot be written, or two reports are to be one file.
    """
    from pytest_browsereval.features.shared import markdown
    from pytest_browsereval.features.shared.report_text import NARROWEST, WIDTH, draw_report

    drawn: dict[Path | None, Callable[[], str]] = {
        arguments.json: lambda: format_json(report.content()),
        arguments.markdown: lambda: markdown.draw_report(report),
    }
    if arguments.json == arguments.markdown != None:  # noqa: E711
        raise UsageError(f"--json and --markdown are both to be written to {arguments.json}. Name two files.")
    # Files first: if one cannot be written, nothing is printed that looks like success.
    for place, draw in drawn.items():
        if place not in (None, STANDARD_OUTPUT):
            _check_place(place)
            write(place, draw())
    columns = shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH
    width = max(columns, NARROWEST)
    say_all(drawn.get(STANDARD_OUTPUT, lambda: "".join(f"{line}\n" for line in draw_report(report, width)))())


def _check_place(path: Path) -> None:
    """Let a report take the place of an earlier one, as pytest's ``--junit-xml`` does, and of nothing else.

    Raises:
        UsageError: the file that is there is clearly not a report.
    """
    is_of_run = path.name in OF_RUNS and (path.parent / "tasks").is_dir()
    if path.is_file() and (path.suffix.lower() in OF_USERS or is_of_run):
        raise UsageError(f"{path} exists and is not a report, so it was not overwritten. Name another file.")


def say_all(text: str) -> None:
    """Print a text; what the terminal cannot show is a question mark."""
    # A terminal of Windows or of LANG=C cannot print every character of a row.
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "replace").decode(encoding))


def write(path: Path, text: str) -> None:
    """Write a report as a whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    from pytest_browsereval.run_files import write_whole

    with refuse_unwritable(path):
        write_whole(path, text)


@contextmanager
def refuse_unwritable(path: Path) -> Iterator[None]:
    """Say in a sentence that a file cannot be written, instead of a traceback.

    Args:
        path: what is written, unless the error names another file.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        yield
    except OSError as error:
        named = Path(error.filename or path)
        where = path if named.name.startswith(".") else named  # `write_whole` writes a hidden file first
        raise UsageError(f"{where} cannot be written: {error.strerror or error}.") from None
