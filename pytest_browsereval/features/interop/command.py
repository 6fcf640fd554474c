"""``import-run``: runs of other systems as run folders."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_browsereval.commands.base import Command
from pytest_browsereval.errors import BrowserEvalError, PluginError, UsageError, describe_error
from pytest_browsereval.model.display import format_count
from pytest_browsereval.redaction.known import redact_known


def import_run(arguments: argparse.Namespace) -> int:
    """Make a run folder of another system's run, and print what is in it."""
    from pytest_browsereval.analysis.summary import summary_of
    from pytest_browsereval.datasets.jsonl import JsonLinesConfig
    from pytest_browsereval.features.interop.attempts import with_rows, write_run
    from pytest_browsereval.features.interop.readers import read_run
    from pytest_browsereval.model.grades import Verdict

    _report_left_out()
    source, target = Path(arguments.folder), Path(arguments.output)
    with _naming(arguments.kind):
        attempts = read_run(arguments.kind, source)
    if arguments.rows is not None:
        dataset = JsonLinesConfig(path=Path(arguments.rows))
        rows = {ref.query_id: dataset.read(ref) for ref in dataset.index(Path.cwd())}
        attempts = with_rows(attempts, rows)
    try:
        with _naming(arguments.kind):  # what it has returned may hold anything
            store = write_run(attempts, target, arguments.kind, source)
        summary = summary_of(store)
        store.write_summary({"selected": len(summary.trials), **summary.as_json()})
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error}.") from None
    message = ", ".join(f"{summary.count(verdict)} {verdict}" for verdict in Verdict)
    print(f"{format_count(len(attempts), 'attempt')} in {target}: {message}")
    if ungraded := sum(not attempt.grades for attempt in attempts):
        print(f"{ungraded} of them have no grade yet. Run `browsereval regrade {target} --config FILE`.")
    for attempt in attempts:
        for warning in attempt.warnings:
            print(f"note: {attempt.task.query_id}: {warning.message}")
    return 0


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Have an error say which format it is of.

    Raises:
        PluginError: in the place of anything that its code must not raise.
    """
    try:
        yield
    except (BrowserEvalError, OSError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a package's own code, which may call sys.exit
        message = f"the format {name!r} broke: {describe_error(error)}. Mend the plug-in."
        raise PluginError(message) from error


def _report_left_out() -> None:
    """Print which formats are left out, and why: the one that is asked for may have a namesake."""
    from pytest_browsereval.features.interop.readers import find_formats

    left_out: list[str] = []
    find_formats(left_out)
    for sentence in left_out:
        print(redact_known(f"browsereval: {sentence}"), file=sys.stderr)


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        metavar="FORMAT",
        help="the format of the run: browseros, online-mind2web, webvoyager, or one of an installed package",
    )
    parser.add_argument("folder", metavar="FOLDER", help="the folder of the run, or of one task of it")
    parser.add_argument("-o", "--output", metavar="RUN", required=True, help="the run folder to write")
    parser.add_argument(
        "--rows",
        metavar="FILE",
        help="JSON Lines with the rows that were run, for answers and rubrics (see `browsereval import`)",
    )


COMMANDS = (
    Command("import-run", "convert a run of another system into a run folder", import_run, _import_arguments),
)
