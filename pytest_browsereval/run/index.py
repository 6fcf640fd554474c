"""The index of a run: digests of its records in a few files, so that a reader need not open each record.

Each process of a run appends a line to ``index/<worker>-<letters>.jsonl`` when a record is in place:
``[check, version, folder, stamp, grades, digest]``. It counts while the record has that stamp, so that the
index may lack lines, and hold old or damaged ones: readers then read the record.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from string import ascii_lowercase
from typing import BinaryIO

from pydantic_core import from_json

from pytest_browsereval.model.digest import FORM, AttemptDigest, pack_digest, unpack_digest
from pytest_browsereval.run.records import Stamp, digest_record
from pytest_browsereval.run_files import open_written

INDEX = "index"
"""The folder of the index."""

DIGESTS = ".digests"
"""The folder of the same in a copy of a run that has none of its attempts; elsewhere nobody looks there."""

_NO_STAMP: Stamp = (0, 0, 0, 0)

_VERSION = digest_record(f"3 {FORM}".encode())[:8]
"""Lines of versions that keep other fields of a record are passed over; raise the number if a field means
something else."""

_LONGEST_LINE, _LARGEST_FILE = 1 << 20, 1 << 30
"""Bytes. What is longer was not written by a run, and would fill the memory of its reader."""

_CHECK = slice(2, 34)
_CHECKED = slice(37, -1)
"""Where a line has its check, and what that is of: a line that was cut or edited does not count."""

_SAFELY = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | sum(getattr(os, name, 0) for name in _SAFELY)

Known = dict[str, AttemptDigest | list[AttemptDigest]]
"""What an index says: the digest of each record by the attempt's folder below the run's; several of one that
was written again, of which one at most has the stamp of the record."""


def _make_line(folder: str, stamp: Stamp, data: AttemptDigest) -> bytes:
    rest = json.dumps([_VERSION, folder, stamp, data.grades_stamp, pack_digest(data)])[1:].encode()
    return b'["%s", %s\n' % (digest_record(rest).encode(), rest)


def _read_line(line: bytes) -> tuple[str, AttemptDigest]:
    if line[_CHECK] != digest_record(line[_CHECKED]).encode():
        raise ValueError("it was cut or edited")
    # Strings that come again and again are kept once by this reader.
    _, version, folder, stamp, grades, values = from_json(line)
    if version != _VERSION:
        raise ValueError("of another version")
    return folder, unpack_digest(values, grades, hash(tuple(stamp)))


def make_lines(digests: Iterable[tuple[str, AttemptDigest]]) -> Iterator[bytes]:
    """Yield lines of digests that stand for attempts which are not there.

    Args:
        digests: by the attempts' folders below the run's.
    """
    return (_make_line(folder, _NO_STAMP, data) for folder, data in digests)


def is_readable(lines: bytes) -> bool:
    """Whether this version can read such lines, of which all are by one version."""
    try:
        _read_line(lines[: lines.index(b"\n") + 1])
    except (ValueError, TypeError):
        return False
    return True


def read_copied(root: Path) -> Iterator[tuple[str, AttemptDigest]]:
    """Yield the digests of a copy that has no attempts, in the order of the folders' names."""
    found = _read_files(_list_files(root, DIGESTS))
    # As folders are listed, name by name: split into lists they would take 60 MiB for a while.
    for folder in sorted(found, key=lambda one: one.replace("/", "\0")):
        yield from ((folder, data) for data in list_known(found, folder)[-1:])


class IndexFile:
    """The part of a run's index that one process writes.

    Args:
        root: the run's folder.
        worker: names the process among those of the run.
    """

    def __init__(self, root: Path, worker: str) -> None:
        self.root = root
        # Sessions that write one after another, or shards at once, have workers of the same name.
        self._name = f"{worker}-{_random_letters()}.jsonl"

    def append(self, folder: Path, stamp: Stamp, data: AttemptDigest) -> None:
        """Add a line.

        Raises:
            OSError: it cannot be written.
        """
        line = _make_line(folder.relative_to(self.root).as_posix(), stamp, data)
        file = os.open(_make_folder(self.root) / self._name, _APPEND, 0o666)
        try:
            os.write(file, line)  # one call: a process that is killed leaves no line that others continue
        finally:
            os.close(file)


def read_index(root: Path) -> Known:
    """Return what the index of a run says, as far as it can be read: it is never the truth.

    Args:
        root: the run's folder.
    """
    return _read_files(_list_files(root))


def _read_files(paths: Iterable[Path]) -> Known:
    known: Known = {}
    for path in paths:
        with contextlib.suppress(OSError), open_written(str(path)) as file:
            if os.fstat(file.fileno()).st_size > _LARGEST_FILE:
                continue
            for line in iter(partial(file.readline, _LONGEST_LINE), b""):
                with contextlib.suppress(ValueError, TypeError):
                    folder, data = _read_line(line)
                    if known.setdefault(folder, data) is not data:
                        known[folder] = [*list_known(known, folder), data]
    return known


def list_known(known: Known, folder: str) -> list[AttemptDigest]:
    """Return what an index says of an attempt."""
    found = known.get(folder, [])
    return found if isinstance(found, list) else [found]


class NewIndex:
    """An index that takes the place of what there is, as a whole or not at all.

    An error is kept until the end: those who read the records as they are indexed need them nevertheless.
    Lines that others append meanwhile may be lost: readers read these records.

    Args:
        root: the run's folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._old = list(_list_files(root))
        self._file: BinaryIO | None = None
        self._error: OSError | None = None
        try:
            self._path = _make_folder(root) / f"all-{_random_letters()}.jsonl"
            self._file = self._path.with_suffix(".part").open("xb")
        except OSError as error:
            self._error = error

    def add(self, folder: str, stamp: Stamp, data: AttemptDigest) -> None:
        """Add a record by its attempt's folder below the run's."""
        if self._file is not None and self._error is None:
            try:
                self._file.write(_make_line(folder, stamp, data))
            except OSError as error:
                self._error = error

    def finish(self) -> None:
        """Put it in its place.

        Raises:
            OSError: it cannot be written, or an earlier line could not.
        """
        if self._file is None or self._error is not None:
            raise self._error or OSError("it was closed")
        self._file.close()
        self._path.with_suffix(".part").replace(self._path)
        for path in self._old:
            path.unlink(missing_ok=True)

    def __enter__(self) -> NewIndex:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove what was not finished."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()
                self._path.with_suffix(".part").unlink(missing_ok=True)


def _make_folder(root: Path) -> Path:
    """Return the folder of the index, which is made if it is missing.

    Raises:
        OSError: it cannot be made, or is a link: what is written would lie elsewhere.
    """
    folder = root / INDEX
    folder.mkdir(exist_ok=True)
    if folder.is_symlink():
        raise NotADirectoryError(f"{folder} is a link")
    return folder


def _list_files(root: Path, name: str = INDEX) -> Iterator[Path]:
    folder = root / name
    with contextlib.suppress(OSError):
        if not folder.is_symlink():
            yield from sorted(path for path in folder.iterdir() if path.suffix == ".jsonl")


def _random_letters() -> str:
    return "".join(random.SystemRandom().choices(ascii_lowercase, k=10))
