"""The option of runs at a URL."""

from __future__ import annotations

from pytest_browsereval.feature import Option

OPTIONS = (
    Option(
        "--eval-run-name",
        metavar="NAME",
        help="name the runs at the URL of --eval-output=URL; all shards of a run need the same name. A "
        "run of this name that was interrupted, on any machine, is resumed; one that is done ends with exit "
        "code 5",
    ),
)
