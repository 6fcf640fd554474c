"""Reads the option ``--eval-dashboard``."""

from __future__ import annotations

import argparse


def port_number(text: str) -> int:
    """Return the port. A file behind the option is refused, which argparse takes for its value."""
    number = int(text) if text.isascii() and text.isdecimal() else -1
    if not 0 <= number <= 65535:
        advice = "Write `--eval-dashboard=PORT`, or put `--eval-dashboard` behind the files"
        raise argparse.ArgumentTypeError(f"{text!r} is not a port. {advice}")
    return number
