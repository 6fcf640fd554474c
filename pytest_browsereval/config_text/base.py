"""Documents: plain values with line numbers, and errors of reading them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

KeyPath = tuple[str | int, ...]
"""The path to a value: keys of mappings and indexes of lists."""


class DocumentError(Exception):
    """A text cannot be read.

    Args:
        message: what is wrong, without the name of the file.
        line: the line, from 1; None if it is not known.
    """

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line

    def locate(self, name: str) -> str:
        """Return the message with the file's name and the line, if it is known."""
        return f"{name}: {self}" if self.line is None else f"{name}:{self.line}: {self}"


@dataclass(frozen=True)
class Document:
    """The value of a text, and its problems."""

    value: Any
    line_of: Callable[[KeyPath], int | None]
    """Returns the line of the value at a path, or of the nearest value above it."""
    problems: list[tuple[int | None, str]] = field(default_factory=list)
    """Lines and messages: repeated keys, keys that are not texts, unknown tags."""


def find_line(lines: Mapping[KeyPath, int], path: KeyPath) -> int | None:
    """Return the line of a path, or of the nearest value above it."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path)


def format_path(path: Path) -> str:
    """Return the path as a user would type it: relative if it is below the current folder."""
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
        # Not `read_text`: its encoding would be the machine's, and editors on Windows write the mark.
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        message = f"not UTF-8 (byte {error.object[error.start]:#04x}). Save it as UTF-8."
        raise DocumentError(message, line) from None
    except OSError as error:
        raise DocumentError(unreadable(path, error)) from None


def file_inside(folder: Path, name: str) -> Path | None:
    """Return a file in a folder by its name; None if there is no such file, or if it is outside.

    Args:
        folder: the folder; links must not lead out of it either.
        name: a path relative to the folder, from any origin.
    """
    try:
        root = folder.resolve()
        file = (root / name).resolve()
        return file if file.is_relative_to(root) and file.is_file() else None
    except (OSError, ValueError):  # a name that is too long, or has a zero byte
        return None


def unreadable(path: Path, error: OSError) -> str:
    """Return why a file cannot be read, with the nearest name in its folder."""
    if path.is_dir():
        return "is a folder, not a file. Name the file in it."
    if isinstance(error, FileNotFoundError):
        folder = path.parent
        if not folder.is_dir():
            return f"no such file; the folder {format_path(folder)!r} does not exist either."
        near = difflib.get_close_matches(path.name, [other.name for other in folder.iterdir()], n=1)
        return "no such file." + (f" Did you mean {near[0]!r}?" if near else "")
    return f"cannot be read: {error.strerror or error}."
