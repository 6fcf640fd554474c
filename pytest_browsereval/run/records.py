"""Digests of attempts' records, which show whether a record was rewritten."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pytest_browsereval.run_files import open_written, parse_written, read_written

T = TypeVar("T")

RECORD = "metadata.json"
"""The record of an attempt, in its folder: all that a gate needs."""

REWRITTEN = "rewritten.jsonl"
"""In the run folder: a line for each attempt whose record something else than the run has changed."""

NAMED = 5
"""Records that a message names; the rest is counted."""

Digests = dict[str, str]
"""Digests of records by the attempts' folders, relative to the run's."""


Stamp = tuple[int, int, int, int]
"""Size, times of the last change to content and to inode, and inode: all that tells a rewritten file unread.

What is left: a record that is rewritten in place, as long as before, within one tick of the system's clock
(4 ms; none on Linux 6.13 and newer), and the seconds for which a network disk does not ask its server.
A session compares contents at its end and misses neither.
"""


def make_stamp(found: os.stat_result) -> Stamp:
    """Return the stamp of a file."""
    # The time of the inode: programs can set the other one, and `cp -p` and `rsync -t` do.
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def read_record(folder: str) -> tuple[bytes, Stamp]:
    """Return the record of an attempt as it is on disk, with its stamp.

    Raises:
        OSError: it is missing, cannot be read, or is not a plain file.
    """
    with open_written(f"{folder}{os.sep}{RECORD}") as file:  # a path object costs more
        stamp = make_stamp(os.fstat(file.fileno()))  # first: a change while it is read leaves another stamp
        return file.read(), stamp


def digest_record(content: bytes) -> str:
    """Return what tells a record from any other one."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def read_digest(folder: Path) -> str | None:
    """Return the digest of an attempt's record as it is on disk; None if it cannot be read."""
    try:
        return digest_record(read_record(str(folder))[0])
    except OSError:
        return None


@dataclass
class Records:
    """The records of a run that this process has written, or taken over from another one.

    Args:
        root: the run's folder.
    """

    root: Path
    _written: Digests = field(default_factory=dict)
    _found: Digests = field(default_factory=dict)
    is_closed: bool = False
    """Whether the run is summed up: an attempt that would not end, and comes to a record now, has none."""

    def note(self, folder: Path, content: bytes) -> None:
        """Keep the digest of a record that was just written."""
        if self.is_closed:  # a reader would take it for one that somebody else has put there
            (folder / RECORD).unlink(missing_ok=True)
            return
        self._written[folder.relative_to(self.root).as_posix()] = digest_record(content)

    def take_over(self, folder: Path) -> None:
        """Keep the digest of a record that another process has written, as it is now."""
        if (digest := read_digest(folder)) is not None:
            self._found[folder.relative_to(self.root).as_posix()] = digest

    def take_fresh(self) -> dict[str, Digests]:
        """Return what was kept since the last time, as JSON; empty if nothing was."""
        fresh = {"written": _drain(self._written), "found": _drain(self._found)}
        return fresh if any(fresh.values()) else {}


def _drain(digests: Digests) -> Digests:
    """Take all out, one by one: the threads of other lanes may put some in meanwhile."""
    taken: Digests = {}
    with contextlib.suppress(KeyError):
        while True:
            folder, digest = digests.popitem()
            taken[folder] = digest
    return taken


class KnownRecords:
    """All records of a run that its processes know, for the one that sums it up."""

    def __init__(self) -> None:
        self._digests: Digests = {}

    def add(self, fresh: Mapping[str, Digests]) -> None:
        """Take over what a process has kept; what it has only found counts where nothing else is known."""
        self._digests.update(fresh.get("written", {}))
        for folder, digest in fresh.get("found", {}).items():
            self._digests.setdefault(folder, digest)

    def add_all(self, root: Path, folders: Iterable[Path]) -> None:
        """Take over what there is before a session makes its first attempt."""
        for folder in folders:
            if (digest := read_digest(folder)) is not None:
                self._digests.setdefault(folder.relative_to(root).as_posix(), digest)

    def find_changed(self, root: Path) -> Iterator[str]:
        """Yield the attempts whose records are not what was written: changed, damaged or gone."""
        for folder, digest in self._digests.items():
            if read_digest(root / folder) != digest:
                yield folder

    def find_foreign(self, root: Path, folders: Iterable[Path]) -> Iterator[str]:
        """Yield trials' last attempts whose records no process of the run has written.

        (An earlier one may be that of a process that has died, and does not count.)
        """
        last: dict[Path, Path] = {}
        for folder in folders:
            other = last.setdefault(folder.parent, folder)
            last[folder.parent] = max(folder, other, key=_number_of)
        for folder in last.values():
            name = folder.relative_to(root).as_posix()
            if name not in self._digests and (folder / RECORD).exists():
                yield name


def _number_of(folder: Path) -> int:
    return attempt_number(folder.name) or 0


def parse_lines(written: bytes, take: Callable[[Any], T]) -> Iterator[T]:
    """Yield what a function takes from each line of JSON.

    One that it cannot use is passed over: a kill or a full disk has cut it, or a program has written it.
    """
    for line in written.splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError):
            yield take(parse_written(line))


_ATTEMPT = re.compile("attempt-([0-9]{1,9})")


def attempt_number(name: str) -> int | None:
    """Return which try at its trial a folder is, by its name; None: it is no attempt, a copy of one say."""
    found = _ATTEMPT.fullmatch(name)
    return int(found[1]) if found else None


def describe_foreign_records(folders: Sequence[str]) -> str:
    """Return what to say of records that something else than the run has written and that are still there.

    Args:
        folders: of their attempts, relative to the run's.
    """
    more = f" and {len(folders) - NAMED} more" if len(folders) > NAMED else ""
    return (
        "records that something else than the run has changed or made are still there: "
        f"{', '.join(folders[:NAMED])}{more}. Remove these folders, then resume the run (--eval-resume)"
    )


class Lost:
    """The trials of a run that have no result, since something has changed the record of an attempt.

    Args:
        root: the run's folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._until: dict[str, int] = {}
        """The number of each trial's last such attempt; a later one counts."""
        self._folders: dict[str, str] = {}
        """The trials of all such attempts, by their folders."""
        self.is_damaged = False
        """Whether the list of them cannot be read whole: what else has no result is unknown."""
        try:
            lines = read_written(root / REWRITTEN).splitlines()
        except OSError as error:
            self.is_damaged = not isinstance(error, FileNotFoundError)
            return
        self.is_damaged = not lines
        for line in lines:
            try:
                folder = str(parse_written(line)["folder"])
            except (ValueError, TypeError, KeyError):
                self.is_damaged = True
                continue
            trial, _, name = folder.rpartition("/")
            if (number := attempt_number(name)) is not None:
                self._until[trial] = max(number, self._until.get(trial, 0))
                self._folders[folder] = trial

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self._until)

    def __contains__(self, folder: Path) -> bool:
        """Whether an attempt does not count."""
        if not self._until:
            return False
        return _number_of(folder) <= self.last_of(folder.parent)

    def last_of(self, trial: Path) -> int:
        """Return the number of a trial's last such attempt, which may be removed by now; 0 without any.

        Args:
            trial: its folder.
        """
        return self._until.get(trial.relative_to(self._root).as_posix(), 0) if self._until else 0

    def find_kept(self, counted: Iterable[Path]) -> list[str]:
        """Return such attempts whose records are still there, while their trials have no later result.

        Args:
            counted: the folders of the trials' results.
        """
        if not self._until:
            return []
        later = {folder.parent.relative_to(self._root).as_posix() for folder in counted}
        return [
            folder
            for folder, trial in self._folders.items()
            if trial not in later and (self._root / folder / RECORD).exists()
        ]
