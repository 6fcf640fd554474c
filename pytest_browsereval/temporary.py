"""Temporary folders: all below one of the process's own, which is removed with it or by the next start."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_browsereval.session_caches import forget_at_session_end

if TYPE_CHECKING:
    from filelock import BaseFileLock

PREFIX = "browsereval-"

TRIES = 20
"""How many times a folder is removed that fills again."""

_LOCK = ".owner"
"""Locked while the process lives; the system frees it however the process ends."""

_VARIABLES = ("TMPDIR", "TEMP", "TMP")

_replaced: dict[str, str] | None = None
"""The variables that name the system's temporary folder, while :func:`temporary_files_in` has others."""

_folder: Path | None = None
_owned: OwnedFolder | None = None
_parent: Path | None = None
_making = threading.Lock()
"""Sites copy their data in threads. Of two folders one would be nobody's: the next start would remove it."""


class OwnedFolder:
    """A new folder that this process owns: the next start removes it, unless :meth:`remove` has."""

    def __init__(self) -> None:
        from filelock import FileLock  # takes 10 ms

        made = Path(tempfile.mkdtemp(prefix=f".{PREFIX}"))
        self.path = made.with_name(made.name[1:])
        self._lock: BaseFileLock = FileLock(made / _LOCK, timeout=0, thread_local=False)
        try:
            self._lock.acquire()
            made.rename(self.path)
        except (OSError, NotImplementedError):  # a disk without locks: nobody could tell whether it is in use
            self.path = made

    def remove(self) -> None:
        """Remove it with all that is in it."""
        self._lock.release()
        _remove_tree(self.path)


def own_folder() -> Path:
    """Return the folder of this process, made at the first call; nobody else can read it."""
    global _folder, _owned  # noqa: PLW0603 it is the process's
    with _making:
        if _folder is None or not _folder.is_dir():  # systems remove what has not been used for days
            if _parent is not None and _parent.is_dir():  # a worker on another machine is for itself
                _folder = Path(tempfile.mkdtemp(dir=_parent))
            else:
                _owned = OwnedFolder()
                _folder = _owned.path
        return _folder


@contextlib.asynccontextmanager
async def private_folder(prefix: str) -> AsyncIterator[Path]:
    """Give a new folder in that of this process, and remove it.

    Args:
        prefix: of its name.
    """
    # Not in a thread: a folder made while this is cancelled would be known to nobody.
    place = Path(tempfile.mkdtemp(prefix=prefix, dir=own_folder()))
    try:
        yield place
    finally:
        await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)


@contextlib.contextmanager
def temporary_files_in(folder: Path) -> Iterator[None]:
    """Have a process that is started meanwhile put its temporary files into a folder.

    Two must not overlap, see :func:`is_replaced`: each would restore the folder of the other.
    """
    global _replaced  # noqa: PLW0603 the environment is the process's
    before = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    _replaced = before
    os.environ.update(dict.fromkeys(_VARIABLES, str(folder)))
    try:
        yield
    finally:
        _replaced = None
        for name in _VARIABLES:
            os.environ.pop(name, None)
        os.environ.update(before)


def is_replaced() -> bool:
    """Whether :func:`temporary_files_in` is at work."""
    return _replaced is not None


def read_environment() -> dict[str, str]:
    """Return the variables of this process, with the system's temporary folder at any time."""
    if _replaced is None:
        return dict(os.environ)
    others = {name: value for name, value in os.environ.items() if name not in _VARIABLES}
    return {**others, **_replaced}


def use_parent(folder: Path) -> None:
    """Have this process's folder made in that of the process that has started it, and go with it.

    Args:
        folder: need not be there.
    """
    global _parent  # noqa: PLW0603 the same
    _parent = folder


@atexit.register
@forget_at_session_end
def remove_own_folder() -> None:
    """Remove the folder of this process; nothing is done the second time."""
    global _folder, _owned
    folder, _folder = _folder, None
    owned, _owned = _owned, None
    if owned is not None:
        owned.remove()
    if folder is not None:
        _remove_tree(folder)


def _remove_tree(folder: Path) -> None:
    """Remove a folder, also one into which a browser that is just ending still writes."""
    for _ in range(TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return
        time.sleep(0.1)


def sweep() -> None:
    """Remove the folders of this user's processes that have been killed."""
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(PREFIX) and _is_left(entry):
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_left(entry: os.DirEntry[str]) -> bool:
    """Whether a folder is ours and its process lives no more."""
    from filelock import FileLock  # takes 10 ms

    lock = Path(entry.path, _LOCK)
    with contextlib.suppress(OSError, NotImplementedError, TimeoutError):
        is_own = not hasattr(os, "getuid") or entry.stat(follow_symlinks=False).st_uid == os.getuid()
        if is_own and entry.is_dir(follow_symlinks=False) and lock.is_file():
            with FileLock(lock, timeout=0):
                return True
    return False
