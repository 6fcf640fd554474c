"""Which files of a run folder are objects at a URL: all, but for locks and what changed in sites."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pytest_browsereval.capture.trajectory import EFFECTS_FILE
from pytest_browsereval.features.remote.bucket import RemoteError
from pytest_browsereval.report.links import PAGE
from pytest_browsereval.run.locks import LOCKS

_ODD = re.compile(r"[\\:\x00-\x1f\x7f\ud800-\udfff]")
"""Characters that no name of a file has: not on Windows, not in a bucket, or not in UTF-8."""

_NONE_OF_A_RUN = frozenset(("", ".", "..", LOCKS))
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
        if path == LOCKS or entry.name == EFFECTS_FILE:
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
