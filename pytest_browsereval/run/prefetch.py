"""Reads the attempts of a large run from a cold disk into memory, in processes, before they are asked for.

A reader asks for the stamps of each attempt's files, and a disk has a block for each of the four folders
above them. In one thread that is a wait for each block; Python's threads wait for Python's lock besides,
which costs more of the processor than the disk does. So this file is started as a program of its own while
the reader reads the index: ``python -I -S prefetch.py ROOT`` forks, and each fork asks for some of the files.
What they find is for the system alone, which has it in memory then: the reader looks for itself.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time

TYPE_CHECKING = False  # typing takes longer to import than all the rest
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

FORKS = 32
"""Many wait for the disk at once; with more of them it is no faster."""

BLOCK = 1 << 16
"""Bytes of an index, those of about 70 attempts, that a fork reads at least before it goes on behind the
others."""

TURNS = 8
"""How often a fork goes on, at most: neighbours on a disk are found together."""

WORTH_FORKS = 4 << 20
"""Bytes of an index from which on it is worth 30 ms of another process: that of about 4,500 attempts."""

_SAMPLE = 24
"""Attempts that tell whether the disk is cold, in a few ms at most."""

_COLD_S = 50e-6
"""What it takes to find one of them, at least: 10 µs in memory, 500 µs on a disk."""

_LONGEST = 1024
"""Bytes of an attempt's folder, below the run's."""
_FOLDER = re.compile(rb'"(tasks/[^"\\]+/attempt-[0-9]{1,9})", \[')

_programs: dict[str, subprocess.Popen[bytes]] = {}
"""Those that blocks of this process have started, by the run's folder."""


@contextlib.contextmanager
def prefetch_attempts(root: str) -> Iterator[bool]:
    """Prefetch the attempts that a run's index names while the block runs, if the disk is cold; never raises.

    The block is given whether that is so: who reads them in the order of the index is just behind then.

    Args:
        root: the run's folder; nothing is done where it is none.
    """
    import signal  # the program needs neither of them
    import subprocess

    key, found = os.path.realpath(root), None
    if key in _programs:
        _programs[key].poll()  # one that has ended stays a zombie until it is asked
        yield True
        return
    if hasattr(os, "fork") and sys.executable:
        with contextlib.suppress(OSError, ValueError):  # files of an index may go meanwhile
            if _is_large(root) and _is_cold(root):
                words = [sys.executable, "-I", "-S", __file__, root]
                found = subprocess.Popen(  # noqa: S603 our own file
                    words, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
                )
    try:
        if found is not None:
            _programs[key] = found
        yield found is not None
    finally:
        if found is not None:
            del _programs[key]
            if found.poll() is None:  # its forks are in its group
                with contextlib.suppress(OSError):
                    os.killpg(found.pid, signal.SIGKILL)
                found.wait()


def _list_files(root: str) -> list[str]:
    with contextlib.suppress(OSError), os.scandir(f"{root}/index") as entries:
        found = (entry for entry in entries if entry.name.endswith(".jsonl"))
        return sorted(entry.path for entry in found if entry.is_file(follow_symlinks=False))
    return []


def _size(file: str) -> int:
    return os.stat(file).st_size  # noqa: PTH116 as all paths here


def _is_large(root: str) -> bool:
    return sum(map(_size, _list_files(root))) >= WORTH_FORKS


def _is_cold(root: str) -> bool:
    """Whether it takes long to find a few attempts: those at the end of the largest file of the index."""
    file = max(_list_files(root), key=_size)
    folders = _find_folders(file, max(0, _size(file) - BLOCK), BLOCK)[-_SAMPLE:]
    began = time.perf_counter()
    _look(root, folders)
    return time.perf_counter() - began > _COLD_S * max(1, len(folders))


def _find_folders(file: str, place: int, size: int) -> list[bytes]:
    """Return the attempts whose names begin in a block of a file of the index."""
    with open(file, "rb") as content:  # noqa: PTH123 as all paths here
        content.seek(place)
        found = _FOLDER.finditer(content.read(size + _LONGEST))
        return [one[1] for one in found if one.start() < size]


def _look(root: str, folders: list[bytes]) -> None:
    place = os.fsencode(root)
    for folder in folders:  # other files of the attempt are beside it on the disk, too
        with contextlib.suppress(OSError):
            os.lstat(b"%s/%s/metadata.json" % (place, folder))


def _read(file: str) -> None:
    with contextlib.suppress(OSError), open(file, "rb") as content:  # noqa: PTH123 as all paths here
        while content.read(1 << 20):
            pass


def _prefetch_part(root: str, number: int) -> None:
    """Prefetch the part of one fork."""
    sizes = [(file, _size(file)) for file in _list_files(root)]
    block = max(BLOCK, sum(size for _, size in sizes) // (FORKS * TURNS))
    blocks = [(file, place) for file, size in sizes for place in range(0, size, block)]
    for file, place in blocks[number::FORKS]:
        _look(root, _find_folders(file, place, block))
    if number == FORKS - 1:  # which has no more to do than the others, mostly less
        _read(f"{root}/summary.json")


def _main(root: str) -> None:
    os.nice(10)  # the reader comes first, or it would be one of many
    forks = []
    for number in range(FORKS):
        try:
            fork = os.fork()
        except OSError:  # there may be no more processes
            _prefetch_part(root, number)
            continue
        if not fork:
            _prefetch_part(root, number)
            os._exit(0)
        forks.append(fork)
    for fork in forks:
        os.waitpid(fork, 0)


if __name__ == "__main__":
    _main(sys.argv[1])
