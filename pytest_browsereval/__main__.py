"""The ``browsereval`` command and its subcommands."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
from collections.abc import Callable, Sequence

from pytest_browsereval import builtins
from pytest_browsereval.commands import plugin
from pytest_browsereval.commands.base import Command, version_of
from pytest_browsereval.errors import BrowserEvalError, UsageError, name_raised
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.registry import OURS

HOOK = "pytest_browsereval_commands"

EXIT_CODES = 256
"""More of them a process cannot tell: the rest of a division is what a shell sees."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return the exit code: 1 something is missing or broken, 2 or 4 wrong usage.

    Args:
        arguments: what was typed; those of this process by default.
    """
    options = _parser().parse_args(arguments)
    try:
        code = _check_code(options.subcommand, options.run(options))
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


def _check_code(name: str, code: object) -> int:
    """Return the exit code of a subcommand: of 256 a shell would see 0, and of None as well.

    Raises:
        BrowserEvalError: it is none.
    """
    if isinstance(code, int) and 0 <= code < EXIT_CODES:
        return int(code)
    if inspect.iscoroutine(code):
        code.close()
    given = repr(code) if code is None or isinstance(code, int) else f"a `{type(code).__name__}`"
    raise BrowserEvalError(
        f"the subcommand {name!r} returned {given}, which is no exit code (0 to {EXIT_CODES - 1}). "
        "Mend the plug-in."
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="browsereval",
        description="Work with runs and configs of pytest-browsereval. pytest itself runs the evals.",
    )
    parser.add_argument("--version", action="version", version=version_of("pytest-browsereval"))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in gather_commands(_report):
        subparser = commands.add_parser(command.name, help=command.help, description=command.help)
        subparser.set_defaults(run=command.run, subcommand=command.name)
        try:
            command.add_arguments(subparser)
        except Exception as error:  # noqa: BLE001 a package's own code: other subcommands work without it
            _report(
                f"the subcommand {command.name!r} cannot read its arguments: {name_raised(error)}: {error}"
            )
            subparser.set_defaults(run=_refuse)
    return parser


def _refuse(_arguments: argparse.Namespace) -> int:
    raise UsageError("this subcommand cannot be used, see above. Mend or uninstall its package.")


def gather_commands(report: Callable[[str], None]) -> list[Command]:
    """Return the subcommands by name.

    Args:
        report: called with a sentence for each package whose subcommands are left out, and why: one that is
            broken does not keep the others from working.
    """
    ours = ((OURS, command) for command in plugin.pytest_browsereval_commands())
    found: dict[str, tuple[str, Command]] = {}
    for owner, command in (*ours, *builtins.gather_offers(HOOK, report)):
        if not isinstance(command, Command):
            report(f"{owner}: {HOOK} returned {command!r}, which is not a Command. It is left out.")
        # The first one wins: a package must not replace a subcommand of ours.
        elif command.name in found:
            other = found[command.name][0]
            report(
                f"{owner} and {other} both have a subcommand {command.name!r}. That of {other} is used; "
                "rename the other one."
            )
        else:
            found[command.name] = (owner, command)
    return [command for _, (_, command) in sorted(found.items())]


def _report(sentence: str) -> None:
    print(redact_known(f"browsereval: {sentence}"), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
