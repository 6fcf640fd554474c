"""``label`` and ``calibrate``: people judge attempts, and graders are compared with them."""

from __future__ import annotations

import argparse
import getpass
import threading
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import HELP, add_config, find_run, find_runs, note_edited
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.reporting import add_reports, write_reports
from pytest_browsereval.model.display import format_count

if TYPE_CHECKING:
    from pytest_browsereval.features.labelling.labels import LabelLine
    from pytest_browsereval.runs.run import StoredRun


def label(arguments: argparse.Namespace) -> int:
    """Serve the labelling page until Ctrl-C."""
    from pytest_browsereval.config_text import format_path
    from pytest_browsereval.features.labelling.labels import FILE, LabelBook
    from pytest_browsereval.features.labelling.server import LabellingServer
    from pytest_browsereval.runs.folder import check_log
    from pytest_browsereval.runs.run import StoredRun

    # Labels of one run only: the page numbers its attempts.
    folder = find_run(arguments.door, arguments.run_name, arguments.config, is_changed=True)
    run = StoredRun(folder, arguments.door)
    attempts = [one for one in run.attempts if one.grader_results]
    if not attempts:
        raise UsageError(f"{format_path(run.folder)} has no graded attempt, so there is nothing to label.")
    for one in attempts:
        # A half of what an agent did would be labelled for the whole.
        check_log(one.folder, is_empty_allowed=True)
    note_edited([run])
    book = LabelBook(arguments.labels or run.folder / FILE, attempts, arguments.labeller or _person())
    with LabellingServer(book, run.name, arguments.port) as server:
        left = len(run.attempts) - len(attempts)
        print(
            f"{format_count(len(attempts), 'attempt')} to label, {book.done} labelled by {book.labeller}",
            flush=True,
        )
        if left:
            print(f"{left} errored before they were graded and are left out", flush=True)
        try:
            print(f"{server.url}\nCtrl-C ends it", flush=True)
            if not arguments.no_open:
                webbrowser.open(server.url)
            threading.Event().wait()
        except KeyboardInterrupt:
            print(f"\n{book.done} of {len(attempts)} labelled, in {format_path(book.path)}")
    return 0


def calibrate(arguments: argparse.Namespace) -> int:
    """Compare graders with labels; 1 if one misses the bar, nothing can be compared, or a run was edited."""
    from pytest_browsereval.features.labelling.calibration import Bar, hold
    from pytest_browsereval.features.labelling.calibration import calibrate as compare
    from pytest_browsereval.features.labelling.report import make_report
    from pytest_browsereval.runs.run import StoredRun

    folders = find_runs(arguments.door, arguments.run_names, arguments.config)
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("a run is named twice. Name each once.")
    runs = [StoredRun(folder, arguments.door) for folder in folders]
    result = compare(runs, _lines(arguments.labels, runs), arguments.grader)
    bar = Bar(arguments.min_kappa, arguments.max_fpr, is_strict=arguments.strict)
    rules = hold(result, bar, arguments.grader)
    write_reports(arguments, make_report(result, rules))
    return int(note_edited(runs) or not all(rule.is_met for rule in rules))


def _lines(files: Sequence[Path] | None, runs: Sequence[StoredRun]) -> list[LabelLine]:
    from pytest_browsereval.config_text import format_path
    from pytest_browsereval.features.labelling.labels import FILE, own_labels, read_labels

    if files:
        return [line for file in files for line in read_labels(file)]
    if not any((run.folder / FILE).exists() for run in runs):
        how = f"Run `browsereval label {format_path(runs[0].folder)}`, or name a file with --labels."
        raise UsageError(f"none of these runs has a file {FILE}. {how}")
    return [line for run in runs for line in own_labels(run)]


def _person() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name, as in some containers
        return ""


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not between 0 and 1")
    return value


_share.__name__ = "number"  # as argparse names it


def _label_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_name", metavar="RUN", help=HELP)
    add_config(parser)
    parser.add_argument(
        "--labels",
        metavar="FILE",
        type=Path,
        help="the file of labels (default: labels.jsonl in the run folder)",
    )
    parser.add_argument("--labeller", metavar="NAME", help="who labels (default: your login name)")
    parser.add_argument("--port", type=int, default=0, help="the port to listen on (default: a free one)")
    parser.add_argument("--no-open", action="store_true", help="print the address and do not open a browser")


def _calibrate_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_names", metavar="RUN", nargs="+", help=HELP)
    add_config(parser)
    parser.add_argument(
        "--labels",
        metavar="FILE",
        type=Path,
        action="append",
        help="JSON Lines with labels (repeatable; default: labels.jsonl in the run folders)",
    )
    parser.add_argument(
        "--grader",
        metavar="NAME",
        action="append",
        default=[],
        help="calibrate this grader only (repeatable). Limits apply to an advisory grader only if named",
    )
    parser.add_argument("--min-kappa", metavar="X", type=_share, help="exit 1 if Cohen's kappa is lower")
    parser.add_argument(
        "--max-fpr",
        metavar="X",
        type=_share,
        help="exit 1 if the grader passes a larger share of what people fail",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="compare the worse ends of the 95 %% intervals with the limits, not the estimates",
    )
    add_reports(parser)


COMMANDS = (
    Command(
        "label",
        "serve a local page on which people label the attempts of a run",
        label,
        _label_arguments,
        group="compare",
    ),
    Command(
        "calibrate",
        "compare graders with people's labels; exit 1 if they agree too little",
        calibrate,
        _calibrate_arguments,
        group="compare",
    ),
)
