"""Base of subcommands, and how they print."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.registry import Registry


@dataclass(frozen=True)
class Command:
    """A subcommand: what it does, and the function that does it and returns the exit code."""

    name: str
    help: str
    run: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None] = lambda _: None


def registry_near(config: Path) -> Registry:
    """Return a registry with the members of packages and of the conftests that pytest loads for a config.

    These are the ones in its folder and, where that is below the current one, in the folders between.

    Raises:
        RegistryError: one of them cannot be loaded, or members clash.
    """
    from pytest_browsereval.builtins import hand_over, load_registry

    registry = load_registry()
    for file in _conftests(config.absolute().parent):
        hand_over(_load(file), registry, owner=str(file))
    return registry


def add_overrides(parser: argparse.ArgumentParser, what: str = "override a key of the config") -> None:
    """Add the option that overrides keys, as pytest has it."""
    parser.add_argument("--eval-set", metavar="KEY=VALUE", action="append", default=[], help=what)


def run_command(name: str, *words: str) -> int:
    """Run another subcommand in this process and return its exit code.

    Args:
        name: of the subcommand.
        words: its command line.

    Raises:
        UsageError: the feature that brings it is left out; or what the subcommand raises.
    """
    from pytest_browsereval.builtins import gather_offers
    from pytest_browsereval.errors import UsageError
    from pytest_browsereval.registry import OURS

    offers = gather_offers("pytest_browsereval_commands", lambda _: None)
    command = next((one for owner, one in offers if owner == OURS and one.name == name), None)
    if command is None:
        raise UsageError(f"there is no subcommand {name!r} here, and it is needed.")
    parser = argparse.ArgumentParser(prog=f"browsereval {name}")
    command.add_arguments(parser)
    return int(command.run(parser.parse_args(words)))


_HOOK = b"def pytest_browsereval_register"


def _conftests(folder: Path) -> list[Path]:
    """Return the conftests that bring members, the outermost first; others are never run."""
    here = Path.cwd()
    above = [parent for parent in folder.parents if parent.is_relative_to(here)]
    # pytest loads the outer ones first as well: inner ones may import what these put on the path.
    files = (place / "conftest.py" for place in (*reversed(above), folder))
    return [file for file in files if file.is_file() and _HOOK in file.read_bytes()]


def _load(file: Path) -> ModuleType:
    from pytest_browsereval.errors import RegistryError, name_raised

    # Two conftests must not share a name in `sys.modules`.
    name = f"browsereval_conftest_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}"
    spec = spec_from_file_location(name, file)
    assert spec is not None  # noqa: S101 it ends in .py
    assert spec.loader is not None  # noqa: S101 the same
    module = module_from_spec(spec)
    sys.modules[name] = module  # annotations of its classes are looked up there
    sys.path.insert(0, str(file.parent))  # as pytest does, for what stands beside it
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # sys.exit(0) at its top would end `gate` as if it were met
        raise RegistryError(f"{file} cannot be loaded: {name_raised(error)}: {error}. Mend it.") from error
    return module


def version_of(package: str) -> str:
    """Return the version of an installed package, or what to type to get it."""
    try:
        return version(package)
    except PackageNotFoundError:
        return f"not installed; run `{sys.executable} -m pip install {package}`"


def say(name: str, value: str) -> None:
    """Print a line of a two-column list."""
    print(f"{name:<20}{value}", flush=True)
