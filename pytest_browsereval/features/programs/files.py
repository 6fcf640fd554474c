"""Files of a program: copies of the row's, and what it leaves, from which secrets are taken out."""

from __future__ import annotations

import contextlib
import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from pytest_browsereval.features.shared.redaction import is_packed, redact_file
from pytest_browsereval.redaction.marks import MARK

MOST_FILES = 2_000
MOST_BYTES = 64_000_000
"""Of all files together; what is beyond is deleted, since nobody has searched it for secrets."""

_MOST_LISTED = 5
_LONGEST_NAME = 200


def copy_files(files: Mapping[str, Path], folder: Path) -> None:
    """Copy files of a row into a folder, by the names that the row gives them.

    Raises:
        OSError: one cannot be read or written.
    """
    folder.mkdir()
    for name, path in files.items():
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


def keep_files(source: Path, kept: Path) -> list[str]:
    """Move what a program has left where it ran to where it is kept; return names of what cannot be moved."""
    lost = []
    for path in sorted(source.iterdir()) if source.is_dir() else ():
        try:
            shutil.move(path, find_free(kept / path.name))
        except (OSError, shutil.Error):  # no place left, or what is neither a file nor a folder
            lost.append(path.name)
    return lost[:_MOST_LISTED]


def redact_folder(folder: Path, redact: Callable[[str], str], token: str) -> tuple[list[str], list[str]]:
    """Write texts anew that hold a secret, delete other files that do, and rename what is named after one.

    Links are not followed, and what cannot be read is left.

    Args:
        folder: searched with all that is in it.
        redact: replaces secrets in a text.
        token: one more, unless it is empty.

    Returns:
        Names of files, the first few: those that were deleted, since they are not text or there is too much
        of them to be searched; and those that were not searched, since they are packed.
    """

    def without(text: str) -> str:
        return redact(text.replace(token, MARK) if token else text)

    deleted: list[str] = []
    left: list[str] = []
    rest = MOST_BYTES
    for number, path in enumerate(_files(folder)):
        name = without(path.relative_to(folder).as_posix())
        with contextlib.suppress(OSError):
            size = path.stat().st_size
            # Counted before it is read: a folder may hold more than fits into memory.
            is_beyond = number >= MOST_FILES or size > rest
            rest -= 0 if is_beyond else size
            if is_beyond or not redact_file(path, without):
                path.unlink()
                deleted.append(name)
            elif is_packed(path):
                left.append(name)
    _rename(folder, without)
    return deleted[:_MOST_LISTED], left[:_MOST_LISTED]


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder):
        for name in sorted(names):
            path = Path(parent, name)
            if path.is_file() and not path.is_symlink():
                yield path


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
                    path.rename(find_free(path.with_name(clean[:_LONGEST_NAME])))


def find_free(path: Path) -> Path:
    """Return a path, with a number at its end if there is something already."""
    others = (path.with_stem(f"{path.stem}-{number}") for number in itertools.count(2))
    return next(name for name in itertools.chain([path], others) if not os.path.lexists(name))
