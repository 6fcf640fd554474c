"""The ``browsereval`` command: what is useful beside pytest, one function a subcommand."""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from pytest_browsereval.errors import BrowserEvalError, UsageError

_PACKAGES = (
    "pytest-browsereval",
    "pytest",
    "pytest-xdist",
    "pytest-html",
    "playwright",
    "openai",
    "pydantic",
)


@dataclass(frozen=True)
class Command:
    """A subcommand: what it does, and the function that does it and returns the exit code."""

    name: str
    help: str
    run: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None] = lambda _: None


def doctor(arguments: argparse.Namespace) -> int:
    """Print the versions that matter, the browser's by launching it."""
    del arguments
    from pytest_browsereval.browsers.binary import find_binary, playwright_features_off
    from pytest_browsereval.browsers.install import ways
    from pytest_browsereval.browsers.machine import this_machine

    _line("python", f"{platform.python_version()} ({sys.executable})")
    for name in _PACKAGES:
        _line(name, _version(name))
    binary = asyncio.run(find_binary())
    _line("browser", str(binary))
    if not binary.is_headless_shell:
        pop_ups = "" if playwright_features_off() else " (2.8 times here: its pop-ups cannot be switched off)"
        _line("", f"a headless shell takes less: this one costs 1.5 times the CPU{pop_ups}. To get one:")
        _line("", ways(this_machine())[0].strip())
    if not binary.draws_text:
        print("There is no font: pages with text crash. Type  browsereval install-browser", file=sys.stderr)
        return 1
    return 0


def install_browser(arguments: argparse.Namespace) -> int:
    """Make sure that a browser starts, and print which."""
    del arguments
    from pytest_browsereval.browsers import install

    print(asyncio.run(install.install_browser(lambda line: print(line, file=sys.stderr, flush=True))))
    return 0


def schema(arguments: argparse.Namespace) -> int:
    """Print the JSON schema of an eval config, with the members of installed packages."""
    del arguments
    from pytest_browsereval.config import config_schema
    from pytest_browsereval.members import installed_registry

    print(json.dumps(config_schema(installed_registry()), indent=2))
    return 0


COMMANDS = (
    Command("doctor", "show versions and launch the browser that is used", doctor),
    Command("install-browser", "make sure that there is a browser, and launch it", install_browser),
    Command("schema", "print the JSON schema of an eval config, with the members installed", schema),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return the exit code: 1 something is missing or broken, 2 or 4 wrong usage.

    Args:
        arguments: what was typed; those of this process by default.
    """
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
    except UsageError as error:
        print(f"browsereval: {error}", file=sys.stderr)
        return 4
    except BrowserEvalError as error:
        print(f"browsereval: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="browsereval", description="Commands beside pytest's own.")
    parser.add_argument("--version", action="version", version=_version("pytest-browsereval"))
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        subparser = commands.add_parser(command.name, help=command.help, description=command.help)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return f"not installed; type  {sys.executable} -m pip install {package}"


def _line(name: str, value: str) -> None:
    print(f"{name:<20}{value}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
