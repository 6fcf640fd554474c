"""``view``: the page of a run."""

from __future__ import annotations

import argparse
import contextlib
import sys
import webbrowser
from pathlib import Path

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import HELP, add_config, find_run
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.reporting import refuse_unwritable
from pytest_browsereval.model.display import format_count


def view(arguments: argparse.Namespace) -> int:
    """Write the page of a run and say where it is; 1 if records of the run were edited later."""
    single, message = arguments.single_file, ""
    if single is None and arguments.max_mb is not None:
        raise UsageError("--max-mb has no effect without --single-file FILE. Add it.")
    if single is not None and arguments.output is not None:
        raise UsageError("-o is a page with files next to it, --single-file one without. Leave one out.")
    from pytest_browsereval.analysis.evidence import contradicting
    from pytest_browsereval.features.shared.viewer.writing import write_viewer
    from pytest_browsereval.features.view.gate import put_gate, read_stored
    from pytest_browsereval.features.view.single import MOST_MB, write_single
    from pytest_browsereval.redaction.known import redact_known
    from pytest_browsereval.runs.run import StoredRun

    run = find_run(arguments.door, arguments.run_name, arguments.config)
    with refuse_unwritable(single or arguments.output or run):
        if single is None:
            written = write_viewer(arguments.door, run, arguments.output)
            put_gate(written.file, read_stored(run))
        else:
            written, message = write_single(
                arguments.door, run, single, round((arguments.max_mb or MOST_MB) * 1e6)
            )
    damaged = f", {written.damaged} of them damaged" if written.damaged else ""
    print(
        f"{format_count(written.attempts, 'attempt')}{damaged}",
        *filter(None, [message]),
        written.file,
        sep="\n",
        flush=True,
    )
    edited = None
    with contextlib.suppress(UsageError):  # of a damaged line, which was counted above
        edited = contradicting(StoredRun(run, arguments.door))
    if edited:
        print(redact_known(f"note: {edited.message}"), file=sys.stderr)
    if arguments.open:
        webbrowser.open(written.file.resolve().as_uri())
    return int(edited is not None)


def _megabytes(text: str) -> float:
    with contextlib.suppress(ValueError):
        if 0 < (number := float(text)) < 10_000:
            return number
    raise argparse.ArgumentTypeError(f"it must be above 0 and below 10000 (MB), not {text!r}; write 25")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_name", metavar="RUN", help=HELP)
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        type=Path,
        help="the page to write; it links to the pictures of the run (default: index.html in the run folder)",
    )
    parser.add_argument(
        "--single-file",
        metavar="FILE",
        type=Path,
        help="write one page to send, with logs and as many pictures as fit",
    )
    parser.add_argument(
        "--max-mb",
        metavar="N",
        type=_megabytes,
        help="the largest size of the single file in MB (default: 25)",
    )
    add_config(parser)
    parser.add_argument("--open", action="store_true", help="open the page in the browser")


COMMANDS = (
    Command("view", "write the HTML page that shows the attempts of a run", view, _arguments, group="look"),
)
