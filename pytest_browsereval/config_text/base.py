"""Documents: plain values that know their lines, and errors of reading them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KeyPath = tuple[str | int, ...]
"""The way to a value: keys of mappings and indexes of lists."""


class DocumentError(Exception):
    """A text cannot be read at all.

    Args:
        message: what is wrong, without the file's name.
        line: from 1; None where it is not known.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line

    def locate(self, name: str) -> str:
        """Return the message with the file's name and the line, if it is known."""
        return f"{name}: {self}" if self.line is None else f"{name}:{self.line}: {self}"


@dataclass(frozen=True)
class Document:
    """The value of a text, with what was found wrong on the way."""

    value: Any
    line_of: Callable[[KeyPath], int | None]
    """Returns the line of the value at that path, or of the nearest value above it."""
    problems: list[tuple[int | None, str]] = field(default_factory=list)
    """(line, message): repeated keys, keys that are not texts, foreign tags."""


def find_line(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """Return the line of a path, or of the nearest value above it."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


def format_path(path: Path) -> str:
    """Return the path as a reader would type it: relative where it is below the current folder."""
    try:
        return path.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(path)


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, with or without a byte order mark.

    Raises:
        DocumentError: it is missing, a folder, unreadable or not UTF-8.
    """
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DocumentError(
            f"not UTF-8 (byte {error.object[error.start]:#04x}). Save it as UTF-8.", line
        ) from None
    except OSError as error:
        raise DocumentError(unreadable(path, error)) from None


def file_inside(folder: Path, name: str) -> Path | None:
    """Return the file that a name leads to inside of a folder; None if it leads to none, or out of it.

    Args:
        folder: what links may not lead out of either.
        name: a path relative to it, of whatever origin.
    """
    try:
        root = folder.resolve()
        file = (root / name).resolve()
        return file if file.is_relative_to(root) and file.is_file() else None
    except (OSError, ValueError):  # longer than names of files may be, or with a zero byte
        return None


def unreadable(path: Path, error: OSError) -> str:
    """Return why a file cannot be read, with the nearest name beside it."""
    if path.is_dir():
        return "is a folder, not a file. Name the file in it."
    if isinstance(error, FileNotFoundError):
        folder = path.parent
        if not folder.is_dir():
            return f"no such file; the folder {format_path(folder)!r} does not exist either."
        near = difflib.get_close_matches(path.name, [other.name for other in folder.iterdir()], n=1)
        return "no such file." + (f" Did you mean {near[0]!r}?" if near else "")
    return f"cannot be read: {error.strerror or error}."
