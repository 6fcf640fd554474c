"""Which objects a try has written: the files of a run folder, all text of an attempt in one object.

While it goes on, each is listed in a segment, ``segments/000001.jsonl``: an object store cannot append, and a
list that was cut off has whole segments only. In the end all are in ``listing.jsonl``. A line is ``{"path",
"size", "sha256", "bundle"}``; with ``bundle`` the object has several files: ``{"files": {name: text}}``.
"""

from __future__ import annotations

import hashlib
import heapq
import io
import itertools
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from pydantic_core import from_json

from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.run.locks import LOCKS
from pytest_browsereval.run.records import RECORD
from pytest_browsereval.run.selection import SELECTED_FILE

FILES, BUNDLES, SEGMENTS, LISTING = "files", "bundles", "segments", "listing.jsonl"

MARKER = ".remote.json"
"""In a run folder: where it was pushed to, and as which try."""

BEGUN = ("manifest.json", SELECTED_FILE)
"""Files of a run that are written before its first attempt."""

_TEXT = (".json", ".jsonl", ".txt", ".html")
_ODD = re.compile(r"[\\:\x00-\x1f\x7f\ud800-\udfff]")
"""Characters that no name of a file has: not on Windows, not in a bucket, or not in UTF-8."""

_NONE_OF_A_RUN = frozenset(("", ".", "..", LOCKS, MARKER))
"""Names that are none of a run's; an empty one begins an absolute path, or stands between two slashes."""

LARGEST_TEXT = 1 << 20
"""Bytes of a file that goes into a bundle."""

SORTED_AT_ONCE = 50_000
"""Lines of a list."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An object of a try."""

    path: str
    """Of the file, or of the folder of the bundle, below the run's."""
    size: int
    sha256: str
    bundle: bool = False

    @property
    def place(self) -> str:
        """Where it is below the folder of the try."""
        return f"{BUNDLES}/{self.path}.json" if self.bundle else f"{FILES}/{self.path}"


@dataclass(frozen=True)
class Parcel:
    """What goes into one object."""

    path: str
    files: tuple[str, ...]
    bundle: bool

    def read(self) -> tuple[Entry, bytes]:
        """Return the object and its content.

        Raises:
            OSError: a file cannot be read.
        """
        if self.bundle:
            names = (file.rpartition(os.sep)[2] for file in self.files)
            texts = (_read(file).decode("utf-8", "surrogateescape") for file in self.files)
            files = dict(zip(names, texts, strict=True))
            content = json.dumps({"files": files}).encode()  # escapes keep bytes that are no UTF-8
        else:
            content = _read(self.files[0])
        return Entry(self.path, len(content), hashlib.sha256(content).hexdigest(), self.bundle), content


def _read(file: str) -> bytes:
    with open(file, "rb") as opened:  # noqa: PTH123 a path object costs more
        return opened.read()


def list_parcels(root: Path, folders: Sequence[Path] | None = None) -> list[Parcel]:
    """Return what a run folder has, the attempts first and their records last of each.

    Args:
        root: the run's folder.
        folders: of attempts in it, which come with what the run was begun as; None for all that it has.

    Raises:
        RemoteError: it has a link, another thing that is not a plain file, or a name that is refused.
    """
    found: list[Parcel] = []
    if folders is None:
        found.extend(_walk(str(root), ""))
    for folder in folders or ():
        found.extend(_walk(str(root), folder.relative_to(root).as_posix()))
    if folders is not None:  # whoever takes the run over resumes it by these
        begun = [root / name for name in BEGUN]
        plain = (file for file in begun if file.is_file() and not file.is_symlink())
        found.extend(Parcel(file.name, (str(file),), bundle=False) for file in plain)
    # Attempts come before what is said of them; of each, pictures before the record.
    return sorted(
        found, key=lambda one: (one.path not in BEGUN, not one.path.startswith("tasks/"), one.bundle)
    )


def _walk(root: str, path: str) -> Iterator[Parcel]:
    """Yield what a folder has, and all folders below it.

    Args:
        root: the run's folder.
        path: of the folder below that; "" for that itself.
    """
    with os.scandir(f"{root}{os.sep}{path}") as listed:
        entries = sorted(listed, key=lambda one: one.name)
    inner: list[str] = []
    files: list[os.DirEntry[str]] = []
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            inner.append(entry.name)
        elif entry.is_symlink() or not entry.is_file():
            raise RemoteError(
                f"{ascii(entry.path)[1:-1]} is not a plain file, and a run has only those. Remove it."
            )
        elif path or entry.name != MARKER:
            check_path(_join(path, entry.name), root)  # nobody could read the run there
            files.append(entry)
    is_attempt = any(entry.name == RECORD for entry in files)
    bundled = [entry for entry in files if is_attempt and _is_text(entry)]
    for entry in files:
        if entry not in bundled:
            yield Parcel(_join(path, entry.name), (entry.path,), bundle=False)
    if bundled:
        yield Parcel(path or ".", tuple(entry.path for entry in bundled), bundle=True)
    for name in inner:
        if path or name != LOCKS:
            yield from _walk(root, _join(path, name))


def _join(path: str, name: str) -> str:
    return f"{path}/{name}" if path else name


def _is_text(entry: os.DirEntry[str]) -> bool:
    suffix = os.path.splitext(entry.name)[1]  # noqa: PTH122 a path object costs more
    return suffix in _TEXT and entry.stat().st_size <= LARGEST_TEXT


def digest_of(entries: Iterable[Entry]) -> str:
    """Return one digest of all objects of a try."""
    digest = hashlib.sha256()
    for line in sorted(map(_write_line, entries)):
        digest.update(line)
    return digest.hexdigest()


def _write_line(entry: Entry) -> bytes:
    return f"{entry.place}\0{entry.size}\0{entry.sha256}\n".encode()


def _sort(lines: Iterator[bytes], files: ExitStack, folder: Path) -> Iterator[bytes]:
    """Yield lines in their order; a part of them is in memory at a time, as a million take 200 MiB."""
    parts: list[IO[bytes]] = []
    while part := sorted(itertools.islice(lines, SORTED_AT_ONCE)):
        parts.append(files.enter_context(TemporaryFile(dir=folder)))  # noqa: SIM115 the stack closes it
        parts[-1].writelines(part)
        parts[-1].seek(0)
    return heapq.merge(*parts)


def write_segment(bucket: Bucket, prefix: str, number: int, entries: Iterable[Entry]) -> None:
    """Write a segment.

    Raises:
        RemoteError: it cannot be written.
    """
    bucket.put(f"{prefix}/{SEGMENTS}/{_segment(number)}", _lines(entries))


def _segment(number: int) -> str:
    return f"{number:06}.jsonl"


def read_segments(bucket: Bucket, prefix: str) -> tuple[dict[str, Entry], int]:
    """Return the objects that a try has listed so far, by their places, and how many segments there are.

    Segments behind one that is gone do not count: what they list rests on it.

    Raises:
        RemoteError: a segment is damaged, or names a place outside of the run.
    """
    found = zip(bucket.list_files(f"{prefix}/{SEGMENTS}"), itertools.count(1), strict=False)
    names = [name for name, _ in itertools.takewhile(lambda one: one[0] == _segment(one[1]), found)]
    entries = (entry for name in names for entry in _read_lines(bucket, f"{prefix}/{SEGMENTS}/{name}"))
    return {entry.place: entry for entry in entries}, len(names)


def write_listing(bucket: Bucket, prefix: str, entries: Iterable[Entry]) -> None:
    """Write what belongs to a try that is finished: segments have objects that are gone by then, too.

    Raises:
        RemoteError: it cannot be written.
    """
    bucket.put(f"{prefix}/{LISTING}", _lines(entries))


def read_listing(
    bucket: Bucket, prefix: str, folder: Path, is_wanted: Callable[[str, bool], bool] | None = None
) -> tuple[list[Entry], str]:
    """Return the objects of a try that is finished, and the digest of all of them.

    Args:
        bucket: that has the try.
        prefix: of the try.
        folder: where the list is put aside: that of a run of 200,000 attempts may have 100 MB.
        is_wanted: whether an object is returned, by its path and whether it is a bundle; None for all.

    Raises:
        RemoteError: the list is damaged, or names a place outside of the run.
        OSError: it cannot be put there.
    """
    path, wanted = f"{prefix}/{LISTING}", list[Entry]()
    digest = hashlib.sha256()
    with ExitStack() as files:
        file = files.enter_context(TemporaryFile(dir=folder))
        bucket.save(path, file)
        file.seek(0)
        lines = _list_lines(file, f"{bucket.url}/{path}", wanted, is_wanted or (lambda *_: True))
        for line in _sort(lines, files, folder):
            digest.update(line)
    return wanted, digest.hexdigest()


_PLAIN = re.compile(
    rb'\{"path": "((?:[\w-][\w.-]*/)*[\w-][\w.-]*)", "size": (0|[1-9]\d{0,17}), "sha256": "([0-9a-f]{64})", '
    rb'"bundle": (?:(true)|false)\}\n?',
    re.ASCII,
)
"""A line as nearly all are: without escapes, and of no path that ``check_path`` would refuse."""


def _list_lines(
    file: Iterable[bytes], place: str, wanted: list[Entry], is_wanted: Callable[[str, bool], bool]
) -> Iterator[bytes]:
    """Yield what the digest of a list is made of.

    Args:
        file: with the list.
        place: its URL.
        wanted: gets the objects that are wanted: to make all of them takes half of the time.
        is_wanted: which these are.
    """
    for line in file:
        if found := _PLAIN.fullmatch(line):
            path, size, sha256, bundle = found.groups()
            if is_wanted(path.decode(), bundle is not None):
                wanted.append(_read_entry(line, place))
            yield (b"%b/%b.json\0%b\0%b\n" if bundle else b"%b/%b\0%b\0%b\n") % (
                _BUNDLES if bundle else _FILES,
                path,
                size,
                sha256,
            )
        else:
            entry = _read_entry(line, place)
            if is_wanted(entry.path, entry.bundle):
                wanted.append(entry)
            yield _write_line(entry)


_FILES, _BUNDLES = FILES.encode(), BUNDLES.encode()


def _lines(entries: Iterable[Entry]) -> bytes:
    names = Entry.__slots__  # `dataclasses.asdict` copies each value, which takes ten times as long
    return "".join(f"{json.dumps({n: getattr(one, n) for n in names})}\n" for one in entries).encode()


def _read_lines(bucket: Bucket, path: str) -> Iterator[Entry]:
    place = f"{bucket.url}/{path}"
    for line in io.BytesIO(bucket.get(path) or b""):
        yield _read_entry(line, place)


def _read_entry(line: bytes, place: str) -> Entry:
    try:
        values = from_json(line)
        entry = Entry(str(values["path"]), int(values["size"]), str(values["sha256"]), bool(values["bundle"]))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise RemoteError(f"{place} is damaged.") from None
    if "\n" in entry.sha256:  # it would count as two in their digest
        raise RemoteError(f"{place} is damaged.")
    check_path(entry.path, place)
    return entry


def check_path(path: str, place: str) -> None:
    """Refuse a path that leads out of the run's folder, here or on another system.

    Args:
        path: of a file below it.
        place: what names it.

    Raises:
        RemoteError: it does.
    """
    if _ODD.search(path) or not _NONE_OF_A_RUN.isdisjoint(path.split("/")):
        raise RemoteError(f"{place} names a file that is none of a run: {path[-80:]!a}.")
