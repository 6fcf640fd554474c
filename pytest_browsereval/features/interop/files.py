"""Safe reading of a foreign run: nothing outside of its folder is read."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from pytest_browsereval.config_text import DocumentError, format_path, read_text
from pytest_browsereval.config_text.json_text import json_value
from pytest_browsereval.errors import UsageError
from pytest_browsereval.graders.values import describe_invalid

KindT = TypeVar("KindT")


def wrong(path: Path, message: str) -> UsageError:
    """Return the error that says what is wrong with a file or folder."""
    return UsageError(f"{format_path(path)}: {message}")


def check_tree(folder: Path) -> None:
    """Check that a folder holds plain files and folders only: a link could lead anywhere.

    Args:
        folder: the folder, or a plain file alone.

    Raises:
        UsageError: it does not, or there is no such folder.
    """
    if folder.is_file():
        return
    if not folder.is_dir():
        raise wrong(folder, "no such file or folder.")
    for where, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(where, name)
            # `stat` would follow the link.
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                raise wrong(path, "is a link. Put the file itself in its place if it belongs to the run.")
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                raise wrong(path, "is neither a file nor a folder. Remove it.")


def task_folders(folder: Path, marker: str) -> list[Path]:
    """Return the folders of tasks at any depth, in the order of their names.

    Args:
        folder: a run, or the folder of one task.
        marker: the file that every task's folder has.

    Raises:
        UsageError: there is none, or a folder of the run has no task in it.
    """
    if (folder / marker).is_file():
        return [folder]
    found = sorted({file.parent for file in folder.rglob(marker)})
    if not found:
        raise wrong(folder, f"no task is in it: no folder has a {marker}.")
    # A folder next to tasks without the file is a damaged task: it must not be left out silently.
    above = {parent for task in found for parent in task.parents if parent.is_relative_to(folder)}
    for child in sorted(child for parent in above for child in parent.iterdir()):
        if child.is_dir() and child not in above and child not in found:
            raise wrong(child, f"has no {marker}. Take the folder out of the run if it is not a task.")
    return found


def read_value(path: Path) -> Any:
    """Return the value of a JSON file.

    Raises:
        UsageError: it is missing, or not JSON.
    """
    try:
        return json_value(read_text(path))
    except DocumentError as error:
        raise UsageError(error.locate(format_path(path))) from None


def read_as(kind: type[KindT], path: Path) -> KindT:
    """Return the value of a JSON file as what it has to be.

    Raises:
        UsageError: it is not; the message has the first key that is wrong.
    """
    try:
        return TypeAdapter(kind).validate_python(read_value(path))
    except ValidationError as error:
        raise wrong(path, f"{describe_invalid(error)}.") from None


_HEADS = {b"\x89PNG\r\n\x1a\n": "png", b"\xff\xd8\xff": "jpeg", b"RIFF": "webp"}


def picture_suffix(path: Path) -> str:
    """Return the suffix of a picture by its first bytes, as names of files may be wrong.

    Raises:
        UsageError: it is not a picture.
    """
    with path.open("rb") as file:
        head = file.read(12)
    for begins, suffix in _HEADS.items():
        if head.startswith(begins):
            return suffix
    raise wrong(path, "is not a picture: neither PNG, JPEG nor WebP.")


def find_numbered(folder: Path, pattern: str) -> dict[int, Path]:
    """Return the files of a folder by the number in their names; none if there is no such folder.

    Args:
        folder: the folder.
        pattern: matches a whole name; its first group is the number. Other names are left alone.

    Raises:
        UsageError: two files have one number.
    """
    found: dict[int, Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        match = re.fullmatch(pattern, path.name)
        if match is not None and found.setdefault(int(match[1]), path) is not path:
            raise wrong(path, f"has the same number as {found[int(match[1])].name}. Take one out.")
    return dict(sorted(found.items()))
