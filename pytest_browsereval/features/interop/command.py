"""``import-run`` and ``export``: runs of other systems as run folders, and run folders in their formats."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import HELP, add_config, find_run
from pytest_browsereval.contracts import describe_value
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
def _naming(name: str, written: Path | None = None) -> Iterator[None]:
    """Have an error say which format it is of.

    Args:
        name: of the format.
        written: what it writes.

    Raises:
        PluginError: in the place of anything that its code must not raise.
    """
    try:
        yield
    except (BrowserEvalError, OSError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a package's own code, which may call sys.exit
        half = f" What it has written to {written} is not whole." if written and written.exists() else ""
        message = f"the format {name!r} broke: {describe_error(error)}. Mend the plug-in.{half}"
        raise PluginError(message) from error


def export_run(arguments: argparse.Namespace) -> int:
    """Write a run in another system's format, and print what was left out."""
    from pytest_browsereval.features.interop.readers import find_format
    from pytest_browsereval.run.foreign import Exported, ExportFormat
    from pytest_browsereval.run.store import RunStore

    _report_left_out()
    chosen = find_format(ExportFormat, arguments.to)
    store, target = RunStore(find_run(arguments.run_name, arguments.config)), Path(arguments.output)
    try:
        with _naming(chosen.name, target):
            exported = chosen.write(store, target)
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error}.") from None
    if not isinstance(exported, Exported):
        raise PluginError(
            f"the format {chosen.name!r} returned {describe_value(exported)}, which is not an Exported: what "
            "it has written is unknown. Mend the plug-in."
        )
    total = len(store.last_digests())
    print(f"{len(exported.folders)} of {format_count(total, 'attempt')} in {target}")
    for line in exported.left_out:
        print(f"left out: {line}")
    if (unsaid := total - len(exported.folders) - len(exported.left_out)) > 0:
        print(f"left out: {format_count(unsaid, 'attempt')} that the format {chosen.name!r} does not mention")
    return 0


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


def _export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_name", metavar="RUN", help=HELP)
    add_config(parser)
    parser.add_argument(
        "--to",
        metavar="FORMAT",
        required=True,
        help="the format to write: online-mind2web, or one of an installed package",
    )
    parser.add_argument("-o", "--output", metavar="DIR", required=True, help="the folder to write")


COMMANDS = (
    Command("import-run", "convert a run of another system into a run folder", import_run, _import_arguments),
    Command("export", "convert a run into the format of another system", export_run, _export_arguments),
)
