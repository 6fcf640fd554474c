"""The option ``--eval-baseline``."""

from __future__ import annotations

from pytest_browsereval.feature import Option

OPTIONS = (
    Option(
        "--eval-baseline",
        metavar="RUN",
        help="compare with an earlier run, in the gate too: its folder, its URL, its id, 'latest', "
        "'latest-on-main' or another branch, or a baseline file",
    ),
)
