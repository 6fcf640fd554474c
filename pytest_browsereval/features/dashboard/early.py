"""The option ``--eval-dashboard``."""

from __future__ import annotations

import argparse

from pytest_browsereval.feature import Option


def port_number(text: str) -> int:
    """Return the port. A file after the option is refused, which argparse takes for its value."""
    number = int(text) if text.isascii() and text.isdecimal() else -1
    if not 0 <= number <= 65535:
        advice = "Write `--eval-dashboard=PORT`, or put `--eval-dashboard` after the files"
        raise argparse.ArgumentTypeError(f"{text!r} is not a port. {advice}")
    return number


OPTIONS = (
    Option(
        "--eval-dashboard",
        nargs="?",
        const=0,
        type=port_number,
        metavar="PORT",
        help="serve a live page of the run, on this machine only",
    ),
)
