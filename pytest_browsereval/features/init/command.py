"""``init [FOLDER]``: write a first eval, which runs at once without a key and without a network."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from pytest_browsereval.commands.base import Command
from pytest_browsereval.errors import UsageError
from pytest_browsereval.features.init import starter

_SHOWN = 3
"""Files that a refusal names."""


def init(arguments: argparse.Namespace) -> int:
    """Write the files, and print them with the next command to type."""
    folder = _folder(arguments.folder)
    if arguments.ci:
        if starter.find_evals(folder):
            return _add_ci(folder, arguments.ci)
        _check_no_other(folder, arguments.ci)
    ignored = folder / starter.GITIGNORE
    try:
        listed = starter.list_files(arguments.door.load_registry(), folder, arguments.agent, arguments.ci)
        # Repositories often have one: it is kept, and the line that it needs is printed.
        left = ignored if ignored.is_file() else None
        wanted = [file for file in listed if file.path != left]
        obstacles = list(dict.fromkeys(starter.find_obstacles(wanted)))
        if obstacles:
            raise UsageError(_refusal(obstacles, folder, arguments))
        starter.write_files(wanted)
    except FileExistsError as error:  # it was made a moment ago
        raise UsageError(_refusal([Path(error.filename)], folder, arguments)) from None
    except OSError as error:
        place = show(Path(error.filename)) if error.filename else show(folder)
        raise UsageError(
            f"{place} cannot be written: {error.strerror}. Nothing was written. Run "
            "`browsereval init OTHER` with a folder that you may write to."
        ) from None
    _report(wanted, folder, left)
    return 0


def _add_ci(folder: Path, ci: str) -> int:
    """Write the file of the CI system for an eval that is there, and nothing else."""
    written = starter.list_ci_file(folder, ci)
    if obstacles := list(starter.find_obstacles(written)):
        raise UsageError(
            f"{show(obstacles[0])} exists already, and `init` overwrites nothing. Nothing was written. "
            "Move it away and run this again, or add the eval to it by hand."
        )
    try:
        starter.write_files(written)
    except OSError as error:
        raise UsageError(
            f"{show(written[0].path)} cannot be written: {error.strerror}. Nothing was written."
        ) from None
    name = os.path.relpath(written[0].path)
    print("Written:")
    print(f"  {name}  {written[0].purpose}")
    print("\nThe eval is left as it is. Next, commit that file and the eval, and push.")
    return 0


def _check_no_other(folder: Path, ci: str) -> None:
    """Refuse to write a second eval beside one that the user has most likely meant.

    Raises:
        UsageError: the current folder has no eval, and a folder in it has.
    """
    if folder != Path.cwd():
        return
    inside = sorted({file.parent for one in folder.iterdir() for file in starter.find_evals(one)})
    if inside:
        command = shlex.join(["browsereval", "init", "--ci", ci, *_as_operand(inside[0])])
        raise UsageError(
            f"{show(inside[0])} has an eval, and this folder has none. Nothing was written. "
            f"Run `{command}` for that one, or name the folder of a new eval."
        )


def _as_operand(folder: Path) -> list[str]:
    """Return the words that name a folder, whatever its name begins with."""
    name = show(folder)
    return ["--", name] if name.startswith("-") else [name]


def _folder(given: str) -> Path:
    if not given:
        raise UsageError("the name of the folder is empty. Write `browsereval init evals`.")
    if not given.isprintable():
        raise UsageError(
            f"the folder's name {given!a} has characters that cannot be printed. Give it another name."
        )
    return Path(given).resolve()


def _refusal(obstacles: Sequence[Path], folder: Path, arguments: argparse.Namespace) -> str:
    inside = [path for path in obstacles if path.is_relative_to(folder)]
    names = ", ".join(map(show, obstacles[:_SHOWN]))
    if more := len(obstacles) - _SHOWN:
        names += f" and {more} more" if more > 0 else ""
    if any(path == folder or path in folder.parents for path in obstacles):
        problem = f"{names} is a file, not a folder"
    else:
        problem = (
            f"{names} {'exist' if len(obstacles) > 1 else 'exists'} already, and `init` overwrites nothing"
        )
    what_next = f"Run `{_other(folder, arguments, with_ci=len(inside) == len(obstacles))}`"
    if not inside and obstacles[0] not in folder.parents:  # the file of the CI system alone
        what_next = "Leave out `--ci`, or move that file away"
    return f"{problem}. Nothing was written. {what_next}."


def _other(folder: Path, arguments: argparse.Namespace, *, with_ci: bool) -> str:
    """Return the command for a folder that is not there yet."""
    here = Path.cwd()
    name = "evals" if folder == here else folder.name
    parent = folder.parent if folder != here and folder.parent.is_dir() else here
    names = (name, *(f"{name}-{number}" for number in range(2, 1_000)))
    free = next((parent / one for one in names if not os.path.lexists(parent / one)), parent / "OTHER")
    options = [] if arguments.agent == "function" else ["--agent", arguments.agent]
    options += ["--ci", arguments.ci] if arguments.ci and with_ci else []
    return shlex.join(["browsereval", "init", *options, *_as_operand(free)])


def show(path: Path) -> str:
    """Return a path as a reader types it: relative where it is below the current folder."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _report(written: Sequence[starter.StarterFile], folder: Path, left: Path | None) -> None:
    names = [show(file.path) for file in written]
    width = max(map(len, names))
    print("Written:")
    for name, file in zip(names, written, strict=True):
        print(f"  {name:<{width}}  {file.purpose}")
    if left is not None:
        print(f"{show(left)} is kept as it is; add results/ to it.")
    shown = show(folder)
    shown = f"./{shown}" if shown.startswith("-") else shown  # no option of `cd`
    enter = "" if folder == Path.cwd() else f"cd {shlex.quote(shown)} && "
    print("\nNext, type:")
    print(f"  {enter}pytest")
    print("It needs a Chromium: `browsereval install-browser` finds or installs one.")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add where to write, and what for."""
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        default=".",
        help="where to write; made if it is missing (the current folder by default)",
    )
    parser.add_argument(
        "--agent",
        choices=tuple(starter.FILES),
        default="function",
        help="what the agent is: an async function of Python (the default), a model that calls tools, "
        "or a program",
    )
    parser.add_argument(
        "--ci",
        choices=tuple(starter.CI_FILES),
        help="also write the file that runs the eval in CI; only that one where the folder has an eval",
    )


COMMANDS = (Command("init", "write a first eval that runs at once, without a key", init, add_arguments),)
