"""``import-run``: runs of other systems as run folders."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.commands.base import Command
from pytest_browsereval.contracts import describe_value
from pytest_browsereval.door import Door
from pytest_browsereval.errors import BrowserEvalError, PluginError, UsageError, describe_error, nearest
from pytest_browsereval.model.display import format_count, one_line
from pytest_browsereval.redaction.known import redact_known

if TYPE_CHECKING:
    from pytest_browsereval.run.imports import Imported, ImportFormat

HOOK = "pytest_browsereval_run_formats"


def import_run(arguments: argparse.Namespace) -> int:
    """Make a run folder of another system's run, and print what is in it."""
    from pytest_browsereval.datasets.jsonl import JsonLinesConfig
    from pytest_browsereval.features.interop.attempts import with_rows, write_run
    from pytest_browsereval.model.grades import Verdict
    from pytest_browsereval.run.imports import NOT_GRADED
    from pytest_browsereval.runs.run import StoredRun

    source, target = Path(arguments.folder), Path(arguments.output)
    attempts = read_run(arguments.door, arguments.kind, source)
    if arguments.rows is not None:
        dataset = JsonLinesConfig(path=Path(arguments.rows))
        rows = {ref.query_id: dataset.read(ref) for ref in dataset.index(Path.cwd())}
        attempts = with_rows(attempts, rows)
    try:
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
        print(f"{ungraded} of them {'has' if ungraded == 1 else 'have'} no grade yet. {how}")
    for note in notes:
        print(redact_known(one_line(note, 500)))
    return 0


def find_format(door: Door, name: str) -> ImportFormat:
    """Return the format of a name, and print which others are left out.

    Raises:
        UsageError: there is none; the message has those that there are.
    """
    from pytest_browsereval.run.imports import ImportFormat

    def report(sentence: str) -> None:
        sys.stderr.write(redact_known(f"browsereval: {sentence}\n"))

    found: dict[str, ImportFormat] = {}
    for owner, one in door.ask_each(HOOK, report):
        if not isinstance(one, ImportFormat) or found.setdefault(one.name, one) is not one:
            what = getattr(one, "name", one)
            report(f"{owner}: {what!r} is not an ImportFormat with a name of its own, and is not used.")
    if name not in found:
        raise UsageError(f"unknown format {name!r}.{nearest(name, found)} Formats: {', '.join(found)}.")
    return found[name]


def read_run(door: Door, name: str, place: Path) -> Iterator[Imported]:
    """Yield the attempts of another system's run.

    Args:
        door: asks plug-ins for formats.
        name: of its format.
        place: the folder of the run, or of one task of it, or a file.

    Raises:
        UsageError: the format is not known, a file is missing or wrong, which the message names, or there is
            no attempt.
        PluginError: the format breaks, or returns something else than attempts.
    """
    from pytest_browsereval.features.interop.files import check_tree

    chosen = find_format(door, name)
    check_tree(place)
    is_empty = True
    try:
        for one in chosen.read(place):
            _check(name, one)
            is_empty = False
            yield one
    except OSError as error:
        raise UsageError(f"{place} cannot be read: {describe_error(error)}.") from None
    except (BrowserEvalError, KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # a package's own code, which may call sys.exit
        message = f"the format {name!r} broke: {describe_error(error)}. Fix the plug-in."
        raise PluginError(message) from error
    if is_empty:
        raise UsageError(f"{place}: the format {name!r} finds no attempt there.")


def _check(name: str, one: object) -> None:
    from pytest_browsereval.run.imports import Imported

    if not isinstance(one, Imported) or one.trial < 1:
        what = f"{describe_value(one)}, which is not an attempt whose trial is 1 or more"
        raise PluginError(f"the format {name!r} returned {what}. Fix the plug-in.")


def _import_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = "the format: browseros, webvoyager, or one of a package"
    parser.add_argument("kind", metavar="FORMAT", help=kinds)
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
    Command(
        "import-run",
        "convert a run of another system into a run folder",
        import_run,
        _import_arguments,
        group="data",
    ),
)
