"""Which objects a try has written: the files of a run folder, all text of an attempt in one object.

While it goes on, each is listed in a segment, ``segments/000001.jsonl``: an object store cannot append, and a
list that was cut off has whole segments only. In the end all are in ``listing.jsonl``. A line is ``{"path",
"size", "sha256", "bundle"}``; with ``bundle`` the object has several files: ``{"files": {name: text}}``.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryFile
from typing import Any

from pydantic_core import from_json

from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.report.links import PAGE
from pytest_browsereval.run.locks import LOCKS
from pytest_browsereval.run.selection import SELECTED_FILE
from pytest_browsereval.run.store import COPY
from pytest_browsereval.runs.attempt import find_place
from pytest_browsereval.runs.lines import list_files, parse_line, read_raw

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
        return make_entry(self.path, content, self.bundle), content


def make_entry(path: str, content: bytes, bundle: bool = False) -> Entry:  # noqa: FBT001 FBT002 as its fields
    """Return what is known of an object."""
    return Entry(path, len(content), hashlib.sha256(content).hexdigest(), bundle)


def _read(file: str) -> bytes:
    with open(file, "rb") as opened:  # noqa: PTH123 a path object costs more
        return opened.read()


_OTHERS = frozenset((PAGE, f"{PurePosixPath(PAGE).stem}.files", "tasks"))


def is_of_run(path: str) -> bool:
    """Whether it is a file of the run itself, lines of attempts among them, and none of its page."""
    return path.partition("/")[0] not in _OTHERS


def as_json(entry: Entry) -> dict[str, Any]:
    """Return what a list says of an object."""
    return {name: getattr(entry, name) for name in Entry.__slots__}


def _list_places(root: Path) -> Iterator[str]:
    """Yield the folders of attempts below the run's, in the order of their lines."""
    for name in list_files(root):
        for _, line in read_raw(root, name):
            with suppress(ValueError):
                if (data := parse_line(line)) is not None:
                    yield find_place(data)


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
    # Attempts come before what is said of them, in the order of their lines; pictures before the texts.
    order = {place: number for number, place in enumerate(_list_places(root))}

    def rank(parcel: Parcel) -> tuple[object, ...]:
        path = parcel.path
        return path not in BEGUN, not path.startswith("tasks/"), parcel.bundle, order.get(path, 0)

    return sorted(found, key=rank)


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
    is_attempt = any(entry.name == COPY for entry in files)
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


def read_listing(bucket: Bucket, prefix: str, folder: Path) -> tuple[list[Entry], str]:
    """Return the objects of a try that is finished, and the digest of all of them.

    Args:
        bucket: that has the try.
        prefix: of the try.
        folder: where the list is put aside: that of a run of 200,000 attempts may have 100 MB.

    Raises:
        RemoteError: the list is damaged, or names a place outside of the run.
        OSError: it cannot be put there.
    """
    path = f"{prefix}/{LISTING}"
    with TemporaryFile(dir=folder) as file:
        bucket.save(path, file)
        file.seek(0)
        found = [_read_entry(line, f"{bucket.url}/{path}") for line in file]
    return found, digest_of(found)


def _lines(entries: Iterable[Entry]) -> bytes:
    # `dataclasses.asdict` copies each value, which takes ten times as long.
    return "".join(f"{json.dumps(as_json(one))}\n" for one in entries).encode()


def _read_lines(bucket: Bucket, path: str) -> Iterator[Entry]:
    place = f"{bucket.url}/{path}"
    for line in io.BytesIO(bucket.get(path) or b""):
        yield _read_entry(line, place)


def _read_entry(line: bytes, place: str) -> Entry:
    try:
        return read_entry(from_json(line), place)
    except ValueError:
        raise RemoteError(f"{place} is damaged.") from None


def read_entry(values: Any, place: str) -> Entry:
    """Return an object of a list.

    Args:
        values: what the list says of it.
        place: the URL of the list.

    Raises:
        RemoteError: it is damaged, or names a place outside of the run.
    """
    try:
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
