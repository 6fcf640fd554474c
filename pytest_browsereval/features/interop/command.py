"""``import-run``: runs of other systems as run folders."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.commands.base import Command
from pytest_browsereval.errors import BrowserEvalError, PluginError, UsageError, describe_error
from pytest_browsereval.model.display import format_count, one_line
from pytest_browsereval.redaction.known import redact_known

if TYPE_CHECKING:
    from pytest_browsereval.run.imports import Imported

MOST_NOTES = 100


def import_run(arguments: argparse.Namespace) -> int:
    """Make a run folder of another system's run, and print what is in it."""
    from pytest_browsereval.datasets.jsonl import JsonLinesConfig
    from pytest_browsereval.features.interop.attempts import with_rows, write_run
    from pytest_browsereval.features.interop.readers import read_run
    from pytest_browsereval.model.grades import Verdict
    from pytest_browsereval.run.imports import NOT_GRADED
    from pytest_browsereval.runs.run import StoredRun

    source, target = Path(arguments.folder), Path(arguments.output)
    attempts: Iterator[Imported] = read_run(arguments.door, arguments.kind, source)
    if arguments.rows is not None:
        dataset = JsonLinesConfig(path=Path(arguments.rows))
        rows = {ref.query_id: dataset.read(ref) for ref in dataset.index(Path.cwd())}
        attempts = with_rows(attempts, rows)
    try:
        with _naming(arguments.kind):  # what it returns may hold anything
            store, notes = write_run(attempts, target, arguments.kind, source)
        summary = StoredRun(store.root).summary
        store.write_summary({"selected": len(summary.trials), **summary.as_json()})
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error}.") from None
    message = ", ".join(f"{summary.count(verdict)} {verdict}" for verdict in Verdict)
    total = sum(len(trial.attempts) for trial in summary.trials)
    print(f"{format_count(total, 'attempt')} in {target}: {message}")
    if ungraded := sum(trial.last.reason == NOT_GRADED for trial in summary.trials):
        how = f"Run `pytest --eval-config=FILE --eval-regrade={target}`."
        print(f"{ungraded} of them have no grade yet. {how}")
    for note in notes[:MOST_NOTES]:
        print(redact_known(one_line(note, 500)))
    if len(notes) > MOST_NOTES:
        print(f"note: {len(notes) - MOST_NOTES} more; the warnings of each attempt have them")
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
        message = f"the format {name!r} broke: {describe_error(error)}. Fix the plug-in."
        raise PluginError(message) from error


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        metavar="FORMAT",
        help="the format: browseros, webvoyager, or one of a package",
    )
    parser.add_argument(
        "folder", metavar="PATH", help="the folder of the run, or of one task of it, or a file of the run"
    )
    parser.add_argument("-o", "--output", metavar="RUN", required=True, help="the run folder to write")
    parser.add_argument(
        "--rows",
        metavar="FILE",
        help="JSON Lines with the rows that were run, for answers and rubrics (see `browsereval import`)",
    )


COMMANDS = (
    Command("import-run", "convert a run of another system into a run folder", import_run, _import_arguments),
)
