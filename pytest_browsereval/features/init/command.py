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
from pytest_browsereval.model.display import join_first


def init(arguments: argparse.Namespace) -> int:
    """Write the files, and print them with the next command to type."""
    if not arguments.folder:
        raise UsageError("the name of the folder is empty. Write `browsereval init evals`.")
    folder = Path(arguments.folder).resolve()
    if arguments.ci and starter.find_evals(folder):
        listed = [starter.make_ci_file(folder, arguments.ci)]
    else:
        if arguments.ci:
            _check_no_other(folder)
        listed = starter.list_files(arguments.door.load_registry(), folder, arguments.agent, arguments.ci)
    ignored = folder / starter.GITIGNORE
    try:
        # Repositories often have one: it is kept, and the line that it needs is printed.
        left = ignored if ignored.is_file() and len(listed) > 1 else None
        wanted = [file for file in listed if file.path != left]
        if obstacles := list(dict.fromkeys(starter.find_obstacles(wanted))):
            raise UsageError(_describe_obstacles(obstacles))
        starter.write_files(wanted)
    except OSError as error:
        raise UsageError(
            f"{error.filename or folder} cannot be written: {error.strerror}. Run `browsereval init "
            "OTHER` with a folder that you may write to."
        ) from None
    _report(wanted, folder, left)
    return 0


def _check_no_other(folder: Path) -> None:
    """Refuse to write a second eval where the user has most likely meant the one that is there.

    Raises:
        UsageError: the current folder has no eval, and a folder in it has.
    """
    if folder == Path.cwd():
        inside = sorted({file.parent for one in folder.iterdir() for file in starter.find_evals(one)})
        if inside:
            has = f"{show(inside[0])} has an eval, and this folder has none"
            raise UsageError(f"{has}. Nothing was written. Name the folder of that one, or of a new eval.")


def _describe_obstacles(obstacles: Sequence[Path]) -> str:
    names = join_first([*map(show, obstacles)], 3)
    verb = "exist" if len(obstacles) > 1 else "exists"
    return (
        f"{names} {verb} already, and `init` overwrites nothing. Nothing was written. Run "
        "`browsereval init OTHER` with the name of another folder, or move what is there."
    )


def show(path: Path) -> str:
    """Return a path as a reader types it: relative where it is below the current folder."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _report(written: Sequence[starter.StarterFile], folder: Path, left: Path | None) -> None:
    # The file of a CI system may be above the folder.
    names = [os.path.relpath(file.path) for file in written]
    width = max(map(len, names))
    print("Written:")
    for name, file in zip(names, written, strict=True):
        print(f"  {name:<{width}}  {file.purpose}")
    if left is not None:
        print(f"{show(left)} is kept as it is; add results/ to it.")
    if len(written) == 1:
        print("\nThe eval is unchanged. Next, commit that file and the eval, and push.")
        return
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
        help="what the agent is: an async Python function (the default), a model that calls tools, "
        "or a program",
    )
    parser.add_argument(
        "--ci",
        choices=tuple(starter.CI_FILES),
        help="also write the file that runs the eval in CI; only that file if the folder has an eval",
    )


COMMANDS = (
    Command(
        "init", "write a first eval that runs right away, without a key", init, add_arguments, group="start"
    ),
)
