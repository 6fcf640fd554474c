"""The ``browsereval`` command: what is useful beside pytest, one module of ``commands`` for each group."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from pytest_browsereval.commands import (
    calibrating,
    comparing,
    exchanging,
    flaking,
    importing,
    listing,
    machine,
    merging,
    regrading,
    showing,
    toolkits,
    viewing,
)
from pytest_browsereval.commands.base import version_of
from pytest_browsereval.errors import BrowserEvalError, UsageError
from pytest_browsereval.redaction.known import redact_known

COMMANDS = (
    *machine.COMMANDS,
    *listing.COMMANDS,
    *toolkits.COMMANDS,
    *importing.COMMANDS,
    *regrading.COMMANDS,
    *exchanging.COMMANDS,
    *calibrating.COMMANDS,
    *comparing.COMMANDS,
    *flaking.COMMANDS,
    *merging.COMMANDS,
    *showing.COMMANDS,
    *viewing.COMMANDS,
)
"""In the order in which help lists them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return the exit code: 1 something is missing or broken, 2 or 4 wrong usage.

    Args:
        arguments: what was typed; those of this process by default.
    """
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except UsageError as error:
        print(redact_known(f"browsereval: {error}"), file=sys.stderr)
        return 4
    except BrowserEvalError as error:
        print(redact_known(f"browsereval: {error}"), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has seen enough; Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="browsereval", description="Commands beside pytest's own.")
    parser.add_argument("--version", action="version", version=version_of("pytest-browsereval"))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        subparser = commands.add_parser(command.name, help=command.help, description=command.help)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


if __name__ == "__main__":
    sys.exit(main())
