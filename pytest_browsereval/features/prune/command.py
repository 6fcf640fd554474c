"""``prune``: removes pictures and recordings of the attempts of a run that are not kept."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.commands.base import Command
from pytest_browsereval.commands.runs import HELP, add_config, find_run

if TYPE_CHECKING:
    from pytest_browsereval.runs.attempt import StoredAttempt

KEPT = {"failed": ("failed", "errored"), "none": ()}
"""By what ``--keep`` says: the verdicts of attempts that stay whole."""


def prune(arguments: argparse.Namespace) -> int:
    """Remove them, and say how much that was."""
    from pytest_browsereval.config_text import format_path
    from pytest_browsereval.features.shared.viewer.writing import write_viewer
    from pytest_browsereval.model.display import format_count
    from pytest_browsereval.run.locks import RunLocks
    from pytest_browsereval.runs.run import StoredRun

    folder = find_run(arguments.door, arguments.run_name, arguments.config, is_changed=True)
    with RunLocks(folder).hold_for_resume():
        run = StoredRun(folder, arguments.door)
        pruned = [one for one in run.attempts if one.verdict not in KEPT[arguments.keep]]
        sizes = [_prune_attempt(one, folder.resolve()) for one in pruned]
        write_viewer(arguments.door, folder)
    print(
        f"{format_path(folder)}: removed {sum(sizes) / 1e6:.1f} MB of pictures and recordings from "
        f"{format_count(sum(map(bool, sizes)), 'attempt')}; {len(run.attempts) - len(pruned)} kept whole. "
        "Records, logs and grades stay."
    )
    return 0


def _prune_attempt(attempt: StoredAttempt, run: Path) -> int:
    """Remove the pictures and recordings of an attempt; return their bytes."""
    from pytest_browsereval.capture.dom import DOM_FOLDER
    from pytest_browsereval.capture.har import HAR_FILE
    from pytest_browsereval.capture.recording import TRACE_FILE

    folder, size = attempt.local_folder, 0
    if not folder.resolve().is_relative_to(run):  # a program of the attempt has put a link there
        return 0
    for path in (folder / name for name in ("screenshots", DOM_FOLDER, TRACE_FILE, HAR_FILE)):
        if path.is_dir() and not path.is_symlink():
            size += sum(one.lstat().st_size for one in path.rglob("*"))
            shutil.rmtree(path)
        elif path.exists() or path.is_symlink():
            size += path.lstat().st_size
            path.unlink()
    return size


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_name", metavar="RUN", help=HELP)
    add_config(parser)
    parser.add_argument(
        "--keep",
        choices=list(KEPT),
        required=True,
        help="'failed' keeps the files of attempts that failed or errored, 'none' those of no attempt",
    )


COMMANDS = (
    Command(
        "prune",
        "remove pictures and recordings of attempts; records, logs and grades stay",
        prune,
        _arguments,
        group="look",
    ),
)
