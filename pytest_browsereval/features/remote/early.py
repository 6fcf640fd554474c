"""The options of runs at a URL."""

from __future__ import annotations

from pytest_browsereval.feature import Option

OPTIONS = (
    Option(
        "--eval-run-name",
        metavar="NAME",
        help="name the runs at the URL of --eval-output=URL; all shards of a run need the same name. A "
        "run of this name that was interrupted, on any machine, is resumed",
    ),
    Option(
        "--eval-accept-done",
        action="store_true",
        help="for engines that start a part of a run again: if the run of --eval-run-name is done "
        "already, end with the exit code that it ended with, not with 4",
    ),
)
