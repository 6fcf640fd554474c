"""``supervise COMMAND...``: a command that ends with what has started it, and leaves nothing behind."""

from __future__ import annotations

import argparse
import math
import os
import sys

from pytest_browsereval.commands.base import Command
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.shared.processes import attach_command

GRACE_S = 20.0
"""Less than the 30 s after which Slurm and Kubernetes kill what they have asked to end."""


def supervise(arguments: argparse.Namespace) -> int:
    """Become the supervisor of a command: its exit code is then that of this process.

    Raises:
        UsageError: there is no command.
    """
    words = arguments.words[arguments.words[:1] == ["--"] :]
    if not words:
        raise UsageError("there is no command. Write `browsereval supervise pytest --eval-config=...`")
    command = attach_command(words, arguments.grace, arguments.accept)
    sys.stdout.flush()
    # In the place of this process: what an engine kills is then the supervisor itself.
    os.execv(command[0], command)  # noqa: S606 Python


def _seconds(text: str) -> float:
    """Return a number of seconds.

    Raises:
        ValueError: it is none.
    """
    number = float(text)
    if not (math.isfinite(number) and number >= 0):
        raise ValueError(text)
    return number


def _codes(text: str) -> list[int]:
    """Return exit codes.

    Raises:
        ValueError: one is none.
    """
    found = [int(word) for word in text.split(",")]
    if not all(0 <= code <= 255 for code in found):
        raise ValueError(text)
    return found


_seconds.__name__, _codes.__name__ = "number of seconds", "list of exit codes"  # as argparse names them


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--grace",
        metavar="SECONDS",
        type=_seconds,
        default=GRACE_S,
        help="how long the command may take to end before it is killed (default: %(default)g)",
    )
    parser.add_argument(
        "--accept",
        metavar="CODES",
        type=_codes,
        default=[],
        help="exit with 0 if the command ends with one of these exit codes: 1,5 for a part of a run whose "
        "rows may fail or that has no rows",
    )
    parser.add_argument(
        "words", metavar="COMMAND", nargs=argparse.REMAINDER, help="the program and its arguments"
    )


COMMANDS = (
    Command(
        "supervise",
        "run a command that ends, with all its child processes, when this process or its parent does",
        supervise,
        _arguments,
        group="machines",
    ),
)
