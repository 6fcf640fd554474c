"""Secrets taken out of the files that a program leaves in its folder, and out of their names."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from pytest_browsereval.features.programs.contents import DataRedactor, NotSearched
from pytest_browsereval.redaction.marks import MARK

MOST_FILES = 2_000
MOST_BYTES = 64_000_000
"""Of all files together, and of what archives among them hold; more than that is reported, not searched."""

_MOST_LISTED = 5
_LONGEST_NAME = 200


def keep_files(source: Path, kept: Path) -> tuple[str, ...]:
    """Move what a program has left where it ran to where it is kept; return names of what cannot be moved."""
    lost = []
    for path in sorted(source.iterdir()) if source.is_dir() else ():
        try:
            shutil.move(path, _free(kept / path.name))
        except (OSError, shutil.Error):  # no place left, or what is neither a file nor a folder
            lost.append(path.name)
    return tuple(lost[:_MOST_LISTED])


def redact_folder(folder: Path, redact: Callable[[str], str], token: str) -> tuple[str, ...]:
    """Write files anew that hold a secret, and rename those that are named after one.

    Links are not followed, and what cannot be read is left.

    Args:
        folder: searched with all that is in it.
        redact: replaces secrets in a text.
        token: one more, unless it is empty.

    Returns:
        Names of files that were not searched, as there is too much of them, or as they are archives that
        cannot be opened; the first few.
    """

    def without(text: str) -> str:
        return redact(text.replace(token, MARK) if token else text)

    left: list[Path] = []
    rest, redactor = MOST_BYTES, DataRedactor(without, MOST_BYTES)
    for number, path in enumerate(itertools.islice(_files(folder), MOST_FILES + _MOST_LISTED)):
        with contextlib.suppress(OSError):
            size = path.stat().st_size
            is_small = number < MOST_FILES and size <= rest
            # Counted before it is read: a folder may hold more than fits into memory.
            rest -= size * is_small
            if not (is_small and _redact_file(path, redactor)):
                left.append(path)
    names = tuple(without(path.relative_to(folder).as_posix()) for path in left[:_MOST_LISTED])
    _rename(folder, without)
    return names


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                yield path


def _redact_file(path: Path, redactor: DataRedactor) -> bool:
    """Write a file anew if it holds a secret; return whether all of it was searched."""
    before, is_open = path.read_bytes(), True
    try:
        after = redactor.redact(before)
    except NotSearched:
        after, is_open = redactor.redact_unopened(before), False
    if after != before:
        _replace(path, after)
    return is_open


def _replace(path: Path, data: bytes) -> None:
    # A file of its own: this one may have a second name somewhere else.
    fresh = path.with_name(f".{path.name[:100]}.clean")
    try:
        fresh.write_bytes(data)
        fresh.chmod(path.stat().st_mode)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def _rename(folder: Path, redact: Callable[[str], str]) -> None:
    """Give what is named after a secret another name, and links that lead to such a name no target."""
    for parent, folders, files in os.walk(folder, topdown=False):
        for name in (*sorted(files), *sorted(folders)):
            path = Path(parent, name)
            with contextlib.suppress(OSError):
                if path.is_symlink() and (target := os.readlink(path)) != (safe := redact(target)):  # noqa: PTH115
                    path.unlink()
                    path.symlink_to(safe)
                if (clean := redact(name)) != name:
                    path.rename(_free(path.with_name(clean[:_LONGEST_NAME])))


def _free(path: Path) -> Path:
    others = (path.with_stem(f"{path.stem}-{number}") for number in itertools.count(2))
    return next(name for name in itertools.chain([path], others) if not os.path.lexists(name))
