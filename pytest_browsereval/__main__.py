"""The ``browsereval`` command and its subcommands."""

from __future__ import annotations

import argparse
import gc
import inspect
import os
import shutil
import signal
import sys
import textwrap
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from pytest_browsereval.commands.base import GROUPS, Command, list_own_commands, open_door, version_of
from pytest_browsereval.door import Door
from pytest_browsereval.errors import BrowserEvalError, UsageError, describe_error, name_raised, nearest
from pytest_browsereval.feature import describe_unknown
from pytest_browsereval.process_guard import refuse_clean_exit
from pytest_browsereval.redaction.known import redact_known
from pytest_browsereval.registry import OURS

HOOK = "pytest_browsereval_commands"

EXIT_CODES = 256
"""More of them a process cannot tell: the rest of a division is what a shell sees."""

BROKE = 3
"""The exit code of what has no outcome, as pytest has it for internal errors: `gate` answers by 0 and 1."""

UNREAD = 128 + 13
"""The exit code where nobody reads the output any more: that of a program which SIGPIPE ends."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return the exit code.

    1: something is missing or broken; 2 or 4: wrong usage; 3: its code, or that of a plug-in, has raised.

    Args:
        arguments: what was typed; those of this process by default, which is then the command's own.
    """
    with refuse_clean_exit(_report_exit):
        if arguments is not None:
            return _parse_and_run(arguments)
        # Of a run's attempts nothing is garbage, and to look costs a fifth of the time: now and at the end.
        gc.set_threshold(1_000_000)
        _take_signals()
        try:
            return _parse_and_run(sys.argv[1:])
        finally:
            gc.freeze()


def _take_signals() -> None:
    """Have CI systems and a closed terminal end a command as Ctrl-C does: it may have temporary folders."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    del frame
    signal.signal(number, signal.SIG_DFL)  # the second one ends us at once
    raise KeyboardInterrupt(signal.Signals(number).name)


def _parse_and_run(given: Sequence[str]) -> int:
    left_out, words = _read_left_out(given)
    parser = make_parser(door := open_door(left_out))
    known = [command.name for _, command in gather_commands(door, lambda _: None)]
    if words and not words[0].startswith("-") and words[0] not in known:
        hint = nearest(words[0], ["pytest", *known])
        if "'pytest'" in hint:
            hint += " Write `pytest` to run evals, or `pytest shop.eval.yaml` to run one config."
        parser.error(f"there is no subcommand {words[0]!r}.{hint} Subcommands: {', '.join(known)}.")
    return _run(parser.parse_args(given))


def _read_left_out(given: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the names of ``-p no:NAME`` in front of the subcommand, which may be one that is left out.

    Behind them come the subcommand and its arguments.
    """
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    _add_left_out(parser)
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    found = parser.parse_known_args(given)[0]
    for message in describe_unknown(found.left_out):
        _report(message)
    return found.left_out, found.rest


def _add_left_out(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-p",
        dest="left_out",
        action="append",
        default=[],
        type=_left_out,
        metavar="no:NAME",
        help="leave out a feature or a package, as pytest does: no:browsereval.causes (repeatable)",
    )


def _left_out(text: str) -> str:
    """Return the name after `no:`, as pytest has it."""
    if not text.removeprefix("no:") or not text.startswith("no:"):
        raise argparse.ArgumentTypeError(f"{text!r} is not `no:NAME`, such as no:browsereval.causes")
    return text.removeprefix("no:")


def _run(options: argparse.Namespace) -> int:
    code = UNREAD
    try:
        if options.owner == OURS and (config := getattr(options, "config", None)) is not None:
            options.door.load_conftests(Path(config))
        code = _check_code(options.subcommand, options.run(options))
        sys.stdout.flush()
    except UsageError as error:
        _report(str(error))
        return 4
    except BrowserEvalError as error:
        _report(str(error))
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader has seen enough; Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except BaseException as error:  # noqa: BLE001 a plug-in may end by sys.exit(0), and `gate` would be green
        _report_broken(options, error)
        return BROKE
    return code


def _report_exit() -> int:
    # Not by print: what the thread that leaves has done to standard error is unknown.
    os.write(2, b"browsereval: something has called os._exit(0), so there is no outcome. Fix the plug-in.\n")
    return BROKE


def _report_broken(options: argparse.Namespace, error: BaseException) -> None:
    """Print whose code has raised, and where; the traceback too if it is ours, or in Python's dev mode."""
    is_ours = options.owner == OURS
    if is_ours or sys.flags.dev_mode:
        print(redact_known("".join(traceback.format_exception(error)).rstrip()), file=sys.stderr)
    whose = "" if is_ours else f" of {options.owner}"
    hint = "" if is_ours else " Fix the plug-in; PYTHONDEVMODE=1 in the environment shows the traceback."
    _report(f"the subcommand {options.subcommand!r}{whose} broke: {describe_error(error)}.{hint}")


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
        f"the subcommand {name!r} returned {given}, which is not an exit code (0 to {EXIT_CODES - 1}). "
        "Fix the plug-in."
    )


def make_parser(door: Door) -> argparse.ArgumentParser:
    """Return the parser of the command with all subcommands.

    Args:
        door: has the subcommands, and is passed to them.
    """
    parser = argparse.ArgumentParser(
        prog="browsereval",
        description="Work with runs and configs of pytest-browsereval. pytest itself runs the evals.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=version_of("pytest-browsereval"))
    _add_left_out(parser)
    commands = parser.add_subparsers(metavar="COMMAND", help="one of the following", required=True)
    found = gather_commands(door, _report)
    parser.epilog = _list_by_group([command for _, command in found])
    for owner, command in found:
        subparser = commands.add_parser(command.name, description=command.help)
        subparser.set_defaults(run=command.run, subcommand=command.name, owner=owner, door=door)
        try:
            command.add_arguments(subparser)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 a package's own code: other subcommands work without it
            _report(
                f"the subcommand {command.name!r} cannot read its arguments: {name_raised(error)}: {error}"
            )
            subparser.set_defaults(run=_refuse)
    return parser


def _list_by_group(commands: Sequence[Command]) -> str:
    width = max(60, min(100, shutil.get_terminal_size().columns)) - 2
    lines = []
    for group, title in GROUPS.items():
        own = [one for one in commands if (one.group if one.group in GROUPS else "others") == group]
        lines += ["", f"{title}:"] if own else []
        for one in own:
            begin = f"  {one.name:<17}"
            lines += textwrap.wrap(one.help, width, initial_indent=begin, subsequent_indent=" " * len(begin))
    return "\n".join(lines).strip()


def _refuse(_arguments: argparse.Namespace) -> int:
    raise UsageError("this subcommand cannot be used, see above. Fix or uninstall its package.")


def gather_commands(door: Door, report: Callable[[str], None]) -> list[tuple[str, Command]]:
    """Return the subcommands by name, each after its owner.

    Args:
        door: has those of features and packages.
        report: called with a sentence for each package whose subcommands are left out, and why: one that is
            broken does not keep the others from working.
    """
    found: dict[str, tuple[str, Command]] = {}
    for error in door.broken:
        report(f"{error} What it offers to this command is left out.")
    own = [(OURS, command) for command in list_own_commands(door)]
    for owner, command in (*own, *door.ask_each(HOOK, report)):
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
    return [found[name] for name in sorted(found)]


def _report(sentence: str) -> None:
    print(redact_known(f"browsereval: {sentence}"), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
