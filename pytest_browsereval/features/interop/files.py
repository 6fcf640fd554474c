"""Safe reading of a foreign run: nothing outside of its folder is read."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pytest_browsereval.config_text import DocumentError, format_path, read_text
from pytest_browsereval.config_text.json_text import json_value
from pytest_browsereval.errors import UsageError

ModelT = TypeVar("ModelT", bound=BaseModel)

# A larger file is not a record of a task.
MOST_BYTES = 500_000_000

# Keys of a path in a message: a value may be nested without end.
MOST_KEYS = 12


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
                raise wrong(path, "is neither a file nor a folder. Take it out.")


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
    found = sorted(_find_marked(folder, marker))
    if not found:
        raise wrong(folder, f"no task is in it: no folder has a {marker}.")
    # A folder beside tasks without the file is a damaged task: it must not be left out silently.
    above = {parent for task in found for parent in task.parents if parent.is_relative_to(folder)}
    for child in sorted(child for parent in above for child in parent.iterdir()):
        if child.is_dir() and child not in above and child not in found:
            raise wrong(child, f"has no {marker}. Take the folder out of the run if it is not a task.")
    return found


def _find_marked(folder: Path, marker: str) -> Iterator[Path]:
    for where, folders, files in os.walk(folder):
        if marker in files:
            # `os.walk` goes no deeper: pictures and logs of a task are not tasks.
            folders.clear()
            yield Path(where)


def read_value(path: Path) -> Any:
    """Return the value of a JSON file.

    Raises:
        UsageError: it is missing, too large, or not JSON.
    """
    try:
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise wrong(path, f"is larger than {MOST_BYTES} bytes.")
        return json_value(read_text(path))
    except DocumentError as error:
        raise UsageError(error.locate(format_path(path))) from None


def read_as(model: type[ModelT], value: Any, path: Path) -> ModelT:
    """Return a value that was read from a file as what it has to be.

    Raises:
        UsageError: it is not; the message has every key that is wrong.
    """
    try:
        return model.model_validate(value)
    except ValidationError as error:
        parts = []
        for one in error.errors():
            keys = one["loc"]
            key = ".".join(map(str, keys[:MOST_KEYS])) + ("..." if len(keys) > MOST_KEYS else "")
            parts.append(f"{format_path(path)}: {key or 'the file'}: {one['msg']}.")
        raise UsageError("\n".join(parts)) from None


_MAGIC = {
    "png": re.compile(rb"\x89PNG\r\n\x1a\n"),
    "jpeg": re.compile(rb"\xff\xd8\xff"),
    "webp": re.compile(rb"RIFF....WEBP", re.DOTALL),
}


def picture_suffix(path: Path) -> str:
    """Return the suffix of a picture by its first bytes, as names of files may be wrong.

    Raises:
        UsageError: it is not a picture.
    """
    with path.open("rb") as file:
        head = file.read(12)
    for suffix, magic in _MAGIC.items():
        if magic.match(head):
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
        if match is None or not path.is_file():
            continue
        if int(match[1]) in found:
            raise wrong(path, f"has the number of {found[int(match[1])].name}. Take one out.")
        found[int(match[1])] = path
    return dict(sorted(found.items()))
