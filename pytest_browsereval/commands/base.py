"""Base of subcommands, and how they print."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.door import Door


GROUPS = {
    "start": "to start with",
    "look": "to look at a run",
    "compare": "to compare agents, and graders with people",
    "ci": "in CI",
    "data": "rows and runs of other tools",
    "machines": "on other machines",
    "others": "of packages",
}
"""How the help is grouped, in this order."""


@dataclass(frozen=True)
class Command:
    """A subcommand: what it does, and the function that does it and returns the exit code.

    The function gets the values of its arguments, and as ``door`` what asks plug-ins.
    """

    name: str
    help: str
    run: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None] = lambda _: None
    group: str = "others"
    """Where the help lists it; see ``GROUPS``."""


def open_door(left_out: Iterable[str] = (), near: Path | None = None) -> Door:
    """Return a door with features, packages and conftests, as a session of pytest has it.

    Args:
        left_out: what ``-p no:NAME`` names.
        near: a config, whose conftests are loaded.

    Raises:
        RegistryError: a conftest cannot be used.
    """
    from pytest_browsereval import hookspecs
    from pytest_browsereval.door import Door, make_manager

    door = Door(make_manager(hookspecs, left_out))
    door.fill()
    if near is not None:
        door.load_conftests(near)
    return door


def add_overrides(parser: argparse.ArgumentParser, what: str = "override a key of the config") -> None:
    """Add the option that overrides keys, as pytest has it."""
    parser.add_argument("--eval-set", metavar="KEY=VALUE", action="append", default=[], help=what)


def run_command(door: Door, name: str, *words: str) -> int:
    """Run another subcommand in this process and return its exit code.

    Args:
        door: of the subcommand that is running.
        name: of the other one.
        words: its command line.

    Raises:
        UsageError: the feature that brings it is left out; or what the subcommand raises.
    """
    from pytest_browsereval.errors import UsageError

    command = next((one for one in list_own_commands(door) if one.name == name), None)
    if command is None:
        raise UsageError(f"this needs the subcommand {name!r}, which is not available.")
    parser = argparse.ArgumentParser(prog=f"browsereval {name}")
    parser.set_defaults(door=door)
    command.add_arguments(parser)
    return int(command.run(parser.parse_args(words)))


def list_own_commands(door: Door) -> list[Command]:
    """Return the subcommands of the features."""
    modules = (feature.import_module(one) for _, feature in door.features() for one in feature.commands)
    return [command for module in modules for command in module.COMMANDS]


def version_of(package: str) -> str:
    """Return the version of an installed package, or what to type to get it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return f"not installed; run `{sys.executable} -m pip install {package}`"


def say(name: str, value: str) -> None:
    """Print a line of a two-column list."""
    print(f"{name:<20}{value}", flush=True)
