"""Which files of a run folder are objects at a URL: all, but for locks and the mark of the try."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from pytest_browsereval.features.remote.bucket import RemoteError
from pytest_browsereval.report.links import PAGE
from pytest_browsereval.run.locks import LOCKS
from pytest_browsereval.runs.attempt import find_place
from pytest_browsereval.runs.lines import ATTEMPTS, parse_line

MARKER = ".remote.json"
"""In a run folder: where it was pushed to, and as which try; at the URL: what that has sent."""

_ODD = re.compile(r"[\\:\x00-\x1f\x7f\ud800-\udfff]")
"""Characters that no name of a file has: not on Windows, not in a bucket, or not in UTF-8."""

_NONE_OF_A_RUN = frozenset(("", ".", "..", LOCKS, MARKER))
"""Names that are none of a run's; an empty one begins an absolute path, or stands between two slashes."""

_OTHERS = frozenset((PAGE, f"{PurePosixPath(PAGE).stem}.files", "tasks"))


def is_of_run(path: str) -> bool:
    """Whether it is a file of the run itself, lines of attempts among them, and none of its page."""
    return path.partition("/")[0] not in _OTHERS


def check_path(path: str, place: str) -> str:
    """Return a path that does not lead out of the run's folder, here or on another system.

    Args:
        path: of a file below it.
        place: what names it.

    Raises:
        RemoteError: it does.
    """
    if _ODD.search(path) or not _NONE_OF_A_RUN.isdisjoint(path.split("/")):
        raise RemoteError(f"{place} names a file that is none of a run: {path[-80:]!a}.")
    return path


def list_paths(root: Path, folder: str = "") -> Iterator[str]:
    """Yield the paths of all files of a run, from its folder on.

    Args:
        root: the run's folder.
        folder: only what is below this one of it.

    Raises:
        RemoteError: it has a link, another thing that is not a plain file, or a name that is refused.
    """
    with os.scandir(f"{root}{os.sep}{folder}") as listed:
        entries = sorted(listed, key=lambda one: one.name)
    for entry in entries:
        path = f"{folder}/{entry.name}" if folder else entry.name
        if path in (LOCKS, MARKER):
            continue
        if entry.is_dir(follow_symlinks=False):
            yield from list_paths(root, path)
        elif entry.is_symlink() or not entry.is_file():
            raise RemoteError(
                f"{ascii(entry.path)[1:-1]} is not a plain file, and a run has only those. Remove it."
            )
        else:
            yield check_path(path, str(root))  # nobody could read the run there


def describe_content(content: bytes) -> str:
    """Return the size and the SHA-256 of an object."""
    return f"{len(content)}-{hashlib.sha256(content).hexdigest()}"


def take_known(path: str, content: bytes | None, known: str) -> bytes | None:
    """Return an object if it is what it has to be; None if it is missing or something else.

    Args:
        path: of the file.
        content: of the object.
        known: its size and its SHA-256.
    """
    size = known.partition("-")[0]
    if content is not None and path.startswith(f"{ATTEMPTS}/") and size.isdecimal():
        content = content[: int(size)]  # lines were appended since
    return content if content is not None and describe_content(content) == known else None


def cut_lines(content: bytes, there: Collection[str], root: Path) -> bytes:
    """Return lines of attempts up to the first of which the evidence is here and not there.

    Args:
        content: of a file of ``attempts/``.
        there: the folders of attempts that were sent.
        root: the run's folder.
    """
    end = 0
    for line in content.splitlines(keepends=True):
        if not line.endswith(b"\n"):
            break
        with suppress(ValueError):
            data = parse_line(line[:-1])
            if data is not None and (place := find_place(data)) not in there and (root / place).is_dir():
                break
        end += len(line)
    return content[:end]
