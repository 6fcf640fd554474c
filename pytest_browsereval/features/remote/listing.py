"""Which objects a try has written: the files of a run folder, all text of an attempt in one object.

While it goes on, each is listed in a segment, ``segments/000001.jsonl``: an object store cannot append, and a
list that was cut off has whole segments only. In the end all are in ``listing.jsonl``. A line is ``{"path",
"size", "sha256", "bundle"}``; with ``bundle`` the object has several files: ``{"files": {name: text}}``.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.run.locks import LOCKS
from pytest_browsereval.run.selection import SELECTED_FILE

FILES, BUNDLES, SEGMENTS, LISTING = "files", "bundles", "segments", "listing.jsonl"

MARKER = ".remote.json"
"""In a run folder: where it was pushed to, and as which try."""

BEGUN = ("manifest.json", SELECTED_FILE)
"""Files of a run that are written before its first attempt."""

_TEXT = (".json", ".jsonl", ".txt", ".html")
_ODD = re.compile(r"[\\:\x00-\x1f\x7f\ud800-\udfff]")
"""Characters that no name of a file has: not on Windows, not in a bucket, or not in UTF-8."""

LARGEST_TEXT = 1 << 20
"""Bytes of a file that goes into a bundle."""


@dataclass(frozen=True)
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
    files: tuple[Path, ...]
    bundle: bool

    def read(self) -> tuple[Entry, bytes]:
        """Return the object and its content.

        Raises:
            OSError: a file cannot be read.
        """
        if self.bundle:
            files = {file.name: file.read_bytes().decode("utf-8", "surrogateescape") for file in self.files}
            content = json.dumps({"files": files}).encode()  # escapes keep bytes that are no UTF-8
        else:
            content = self.files[0].read_bytes()
        return Entry(self.path, len(content), hashlib.sha256(content).hexdigest(), self.bundle), content


def list_parcels(root: Path, folders: Sequence[Path] | None = None) -> list[Parcel]:
    """Return what a run folder has, the attempts first and their records last of each.

    Args:
        root: the run's folder.
        folders: of attempts in it, which come with what the run was begun as; None for all that it has.

    Raises:
        RemoteError: it has a link, another thing that is not a plain file, or a name that is refused.
    """
    found: list[Parcel] = []
    for folder in _below([root] if folders is None else folders):
        if folder.relative_to(root).parts[:1] == (LOCKS,):
            continue
        files = sorted(path for path in folder.iterdir() if path.is_symlink() or not path.is_dir())
        for file in files:
            if file.is_symlink() or not file.is_file():
                raise RemoteError(
                    f"{ascii(str(file))[1:-1]} is not a plain file, and a run has only those. Remove it."
                )
        files = [file for file in files if file != root / MARKER]
        for file in files:  # nobody could read the run there
            check_path(file.relative_to(root).as_posix(), str(root))
        found.extend(_pack(root, folder, files))
    if folders is not None:  # whoever takes the run over resumes it by these
        begun = [root / name for name in BEGUN if (root / name).is_file() and not (root / name).is_symlink()]
        found.extend(_pack(root, root, begun))
    # Attempts come before what is said of them; of each, pictures before the record.
    return sorted(
        found, key=lambda one: (one.path not in BEGUN, not one.path.startswith("tasks/"), one.bundle)
    )


def _order(parcel: Parcel) -> tuple[bool, bool, bool]:
    return parcel.path not in BEGUN, not parcel.path.startswith("tasks/"), parcel.bundle


def _below(folders: Sequence[Path]) -> Iterator[Path]:
    """Yield folders and all below them."""
    for top in folders:
        yield top
        yield from sorted(path for path in top.rglob("*") if path.is_dir() and not path.is_symlink())


def _pack(root: Path, folder: Path, files: list[Path]) -> Iterator[Parcel]:
    is_attempt = (folder / "metadata.json").is_file()
    bundled = [file for file in files if is_attempt and _is_text(file)]
    for file in files:
        if file not in bundled:
            yield Parcel(file.relative_to(root).as_posix(), (file,), bundle=False)
    if bundled:
        yield Parcel(folder.relative_to(root).as_posix(), tuple(bundled), bundle=True)


def _is_text(file: Path) -> bool:
    return file.suffix in _TEXT and file.stat().st_size <= LARGEST_TEXT


def digest_of(entries: Iterable[Entry]) -> str:
    """Return one digest of all objects of a try."""
    lines = sorted(f"{one.place}\0{one.size}\0{one.sha256}\n" for one in entries)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


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


def read_listing(bucket: Bucket, prefix: str) -> list[Entry]:
    """Return the objects of a try that is finished.

    Raises:
        RemoteError: the list is damaged, or names a place outside of the run.
    """
    return list(_read_lines(bucket, f"{prefix}/{LISTING}"))


def _lines(entries: Iterable[Entry]) -> bytes:
    return "".join(f"{json.dumps(asdict(one))}\n" for one in entries).encode()


def _read_lines(bucket: Bucket, path: str) -> Iterator[Entry]:
    for line in (bucket.get(path) or b"").splitlines():
        yield _read_entry(line, f"{bucket.url}/{path}")


def _read_entry(line: bytes, place: str) -> Entry:
    try:
        values = json.loads(line)
        entry = Entry(str(values["path"]), int(values["size"]), str(values["sha256"]), bool(values["bundle"]))
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
        raise RemoteError(f"{place} is damaged.") from None
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
    pure = PurePosixPath(path)
    is_odd = path != pure.as_posix() or _ODD.search(path) is not None
    if is_odd or pure.is_absolute() or not pure.parts or {"..", LOCKS, MARKER} & set(pure.parts):
        raise RemoteError(f"{place} names a file that is none of a run: {path[-80:]!a}.")
