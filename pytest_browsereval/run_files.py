"""Files of a run: written whole or not at all, and read with care, as programs of an attempt write too."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic_core import from_json, to_json

T = TypeVar("T")


def write_whole(path: Path, text: str | bytes | Iterable[str]) -> None:
    """Write a file so that a reader sees all of it or none, even if this process is killed.

    Args:
        path: where.
        text: what, or its parts.

    Raises:
        OSError: it could not be written; no part of it is left behind under its name.
    """
    if path.exists() and not path.is_file():  # it would take the place of a device or a pipe
        raise OSError(errno.EEXIST, "it exists but is not a file", str(path))
    # In the same folder: a rename across file systems is a copy, which a kill can cut.
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb") as file:
            parts = (text,) if isinstance(text, str | bytes) else text
            file.writelines(part.encode() if isinstance(part, str) else part for part in parts)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """Write plain JSON as ``write_whole`` does, with a line for each value of an object or a list.

    Raises:
        OSError: as ``write_whole`` does.
    """
    write_whole(path, to_json(value, indent=1) + b"\n")


_CAREFULLY = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"))
"""How a file is opened that an attempt's programs could have changed; not every system has all of it."""


def open_written(path: str) -> BinaryIO:
    """Open a file of an attempt to read it.

    A program of the attempt may have put a link to somewhere else in its place, or a pipe that never ends.

    Raises:
        OSError: it is missing, cannot be read, or is not a plain file.
    """
    file = os.fdopen(os.open(path, _CAREFULLY), "rb")
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a plain file", path)
    return file


def read_written(path: Path) -> bytes:
    """Return the content of a file of an attempt, opened as ``open_written`` does it.

    Raises:
        OSError: it is missing, cannot be read, or is not a plain file.
    """
    with open_written(str(path)) as file:
        return file.read()


def parse_written(data: bytes) -> Any:
    """Return the JSON of a file of an attempt, or of a line of one.

    Raises:
        ValueError: it is not JSON, or nested more deeply than Python can follow.
    """
    try:
        return from_json(data)
    except ValueError:
        pass  # Python's own takes more, halves of a surrogate pair say, and tells better what is wrong
    try:
        return json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def load_written(path: Path) -> Any:
    """Return the JSON of a file of an attempt, opened as ``open_written`` does it.

    Raises:
        OSError: it is missing, cannot be read, or is not a plain file.
        ValueError: it is not JSON.
    """
    return parse_written(read_written(path))


def parse_lines(written: bytes, take: Callable[[Any], T]) -> Iterator[T]:
    """Yield what a function takes from each line of JSON.

    One that it cannot use is passed over: a kill or a full disk has cut it, or a program has written it.
    """
    for line in written.splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError):
            yield take(parse_written(line))


Stamp = tuple[int, int, int, int]
"""Size, times of the last change to content and to inode, and inode: tell a rewritten file unread."""


def make_stamp(found: os.stat_result) -> Stamp:
    """Return the stamp of a file."""
    # The time of the inode: programs can set the other one, and `cp -p` and `rsync -t` do.
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino
