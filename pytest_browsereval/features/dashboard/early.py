"""The option ``--eval-dashboard``."""

from __future__ import annotations

from pytest_browsereval.feature import Option

OPTIONS = (
    Option(
        "--eval-dashboard",
        nargs="?",
        const=0,
        type=int,
        metavar="PORT",
        help="serve a live page of the run, on this machine only",
    ),
)
