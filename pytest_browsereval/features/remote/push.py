"""Puts a run at a URL."""

from __future__ import annotations

import json
import platform
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pytest_browsereval.datasets.ids import safe_folder, safe_id
from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.claims import (
    Done,
    OvertakenError,
    Part,
    check_division,
    check_token,
    new_token,
)
from pytest_browsereval.features.remote.listing import (
    FILES,
    MARKER,
    Entry,
    Parcel,
    as_json,
    cut_lines,
    digest_of,
    is_of_run,
    list_parcels,
    make_entry,
    read_segments,
    write_listing,
    write_segment,
)
from pytest_browsereval.features.remote.threads import map_apart
from pytest_browsereval.report.links import PAGE
from pytest_browsereval.run.lookup import LATEST, LATEST_ON
from pytest_browsereval.run.shards import Parts, Shard
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.run_files import make_stamp, read_written, write_whole
from pytest_browsereval.runs.lines import ATTEMPTS, list_files

SEGMENT = 500
"""Objects that a segment lists: what a push that is cut off has to send again at most."""


_PAGE = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={there}">\n'


def check_name(name: str) -> None:
    """Refuse the name of a run at a URL that is not one plain folder there, or that stands for another run.

    Raises:
        RemoteError: it is not.
    """
    if not name or safe_id(name) != name:  # a URL's %2e%2e would lead out of the folder
        raise RemoteError(
            f"{name[:80]!a} cannot be the name of a run at a URL. Take up to 100 of A-Z a-z 0-9 . _ -, "
            "such as nightly-2026-11-25."
        )
    if name == LATEST or name.startswith(LATEST_ON):
        raise RemoteError(f"{name!r} cannot be the name of a run at a URL: it stands for the newest one.")


@dataclass(frozen=True)
class Marker:
    """Where a run folder was pushed to."""

    url: str
    """Of the run."""
    token: str
    """Of its try there."""
    node: str
    """The name of the machine; "" in a marker of an earlier version."""


def read_marker(root: Path) -> Marker | None:
    """Return where a run folder was pushed to; None if it was not, or is a copy of the one that was.

    Args:
        root: the run's folder.

    Raises:
        RemoteError: the file is not a plain one.
    """
    file = root / MARKER
    if file.is_symlink() or (file.exists() and not file.is_file()):  # a pipe would never end
        raise RemoteError(f"{file} is not a plain file. Remove it.")
    with suppress(OSError, ValueError, TypeError, KeyError):
        known = json.loads(file.read_bytes())
        if known["stamp"] == _make_stamp(root):
            return Marker(str(known["url"]), check_token(known["try"]), str(known.get("node", "")))
    return None


def _make_stamp(root: Path) -> list[int] | None:
    """Return what tells a folder from a copy of it: a manifest is never rewritten."""
    try:
        return list(make_stamp((root / "manifest.json").stat()))
    except OSError:  # an imported run has none
        return None


class Push:
    """A run folder on its way to a URL.

    Args:
        root: the run's folder.
        part: what it is there.
    """

    def __init__(self, root: Path, part: Part) -> None:
        self.root = root
        self.part = part
        self.sent = 0
        """Objects that were written so far."""
        self.elsewhere: Mapping[Entry, str] = {}
        """Objects that another try has, which were looked at, with its prefix: the store copies them."""
        self._token: str | None = None
        self._claim = 0
        self._there: dict[str, Entry] = {}
        self._segments = 0
        self._unlined = self._due = 0
        """Bytes that were sent since the lines were, and from how many on these are sent again."""
        self._beginning = threading.Lock()

    @classmethod
    def of_run(cls, root: Path, url: str, name: str | None = None, *, is_ours: bool = False) -> Self:
        """Return the push of a run that is there.

        Args:
            root: the run's folder.
            url: of the folder that the runs of all evals are in.
            name: of the run there; its id by default. Shards of one run need the same.
            is_ours: whether the process that writes the run is this one; others have to have ended.

        Raises:
            UsageError: a process writes the run, it is not one that can be pushed, or there is no key.
        """
        store = RunStore(root)
        store.run.check_version()
        if not is_ours:
            store.locks.check_idle()
        manifest = store.run.read_manifest()
        eval_name = safe_folder(str(manifest.get("name") or root.resolve().parent.name))
        name = root.resolve().name if name is None else name
        check_name(name)
        parts = Parts.of_run(manifest)
        if parts is not None and len(parts.have) != 1:
            if parts.missing:
                raise RemoteError(
                    f"{root} was merged from some parts of a run. Merge all of them, and push that."
                )
            parts = None  # merged of all, it is a run of its own
        bucket = Bucket.open(f"{url.rstrip('/')}/{eval_name}/{name}", is_written=True)
        return cls(root, Part(bucket, Shard(1, 1) if parts is None else Shard(parts.have[0], parts.of)))

    @property
    def url(self) -> str:
        """The URL of the run."""
        return self.part.bucket.url

    @property
    def took_over(self) -> bool:
        """Whether somebody had claimed the part before."""
        return self._claim > 1

    def send(self, folders: Sequence[Path] | None = None) -> list[Entry]:
        """Write the objects that are not there, or have changed; return all that there have to be, as sent.

        Each file is read once: one that a program still writes is there as it was then.

        Args:
            folders: of attempts that are finished; None for all of the run.

        Raises:
            UsageError: something else is there already, or the store cannot be used.
            OSError: a file cannot be read.
        """
        parcels = list_parcels(self.root, folders)
        if self._token is None:
            if self.part.done() is not None:
                here = map_apart(lambda parcel: parcel.read()[0], parcels)
                self._check_same(here)
                return here
            self.begin()
        self.note_token()
        entries: list[Entry] = []
        for first in range(0, len(parcels), SEGMENT):
            some = self._list(map_apart(self._write, parcels[first : first + SEGMENT]))
            entries += some
            self._unlined += sum(entry.size for entry in some)
            has_records = any(entry.bundle for entry in some)
            if (
                has_records
                and self._unlined >= self._due
                and self._list(self._write_lines(), are_whole=False)
            ):
                self._unlined, self._due = 0, self._size_lines()  # a push that is cut off leaves a part
        if folders is not None:
            entries += self._list(self._write_lines(), are_whole=False)
        return entries

    def _size_lines(self) -> int:
        return sum((self.root / ATTEMPTS / name).stat().st_size for name in list_files(self.root))

    def _list(self, entries: list[Entry], *, are_whole: bool = True) -> list[Entry]:
        """Note in a segment which of the objects are new."""
        if new := [entry for entry in entries if self._there.get(entry.place) != entry]:
            self._segments += 1
            write_segment(self.part.bucket, self._prefix, self._segments, new)
            self._there |= {entry.place: entry for entry in new}
            self.sent += len(new) * are_whole
        return entries

    def _write_lines(self) -> list[Entry]:
        """Write the lines of attempts whose evidence is there."""
        there = {entry.path for entry in self._there.values() if entry.bundle}
        found = []
        for name in list_files(self.root):
            content = cut_lines(read_written(self.root / ATTEMPTS / name), there, self.root)
            if content:
                found.append(self._put(make_entry(f"{ATTEMPTS}/{name}", content), content))
        return found

    def finish(
        self,
        ended: int | None = None,
        settings: str | None = None,
        *,
        note_sent: Callable[[Path, str], None] = lambda _folder, _url: None,
    ) -> int:
        """Have the run count there, whole; return how many objects it has.

        Args:
            ended: the exit code of the session that has made it; None where nobody knows.
            settings: a digest of what decided about that code besides the results; None where nobody knows.
            note_sent: is called once the run counts, with its folder and its URL.

        Raises:
            UsageError: another try counts already or has taken over, or the store cannot be used.
            OSError: a file cannot be read.
        """
        entries = self.send()
        if self._token is None:  # it counts already
            return len(entries)
        if not self.part.is_held_by(self._token):
            raise OvertakenError(self.part.overtaken)
        write_listing(self.part.bucket, self._prefix, entries)
        files = [as_json(entry) for entry in entries if is_of_run(entry.path)]
        self.part.finish(self._token, digest_of(entries), files, ended, settings)
        done = self._check_same(entries)
        with suppress(RemoteError):  # the run counts without it
            self._write_page(done)
        note_sent(self.root, self.url)
        return len(entries)

    def _write_page(self, done: Done) -> None:
        """Write a page that leads to that of the try: an address that can be told before there is one."""
        if any(entry.path == PAGE for entry in self._there.values()):
            there = f"try-{done.token}/{FILES}/{PAGE}"
            self.part.bucket.put(f"{self.part.path}/{PAGE}", _PAGE.format(there=there).encode())
            if self.part.shard.of == 1:
                self.part.bucket.put(PAGE, _PAGE.format(there=f"{self.part.path}/{there}").encode())

    @property
    def _place(self) -> str:
        return f"{self.url}/{self.part.path}"

    @property
    def _prefix(self) -> str:
        return self.part.prefix(str(self._token))

    def begin(self) -> None:
        """Take the part over from whoever works on it, unless that was done.

        Raises:
            RemoteError: another try has taken it over from this one, the run was divided otherwise, or the
                store cannot be used.
        """
        with self._beginning:  # a session sends in a thread beside it
            if self._token is None:
                self._begin()

    def _begin(self) -> None:
        self.part.bucket.check_conditions()
        check_division(self.part)
        token = self._find_token() or new_token()
        self._claim = self.part.claim(token)
        listed, self._segments = read_segments(self.part.bucket, self.part.prefix(token))
        sizes = self.part.bucket.list_sizes(self.part.prefix(token)) if listed else {}
        # What was removed since, or cut off, is sent again: when all is done nobody could do that any more.
        self._there = {place: one for place, one in listed.items() if sizes.get(place) == one.size}
        self._token = token

    def is_taken_over(self) -> bool:
        """Whether another try has taken the part over since this one has begun.

        Raises:
            RemoteError: the store cannot be used.
        """
        return self._token is not None and self.part.is_taken_over(self._claim)

    def _find_token(self) -> str | None:
        """Return the name of this folder's try there: a push that was cut off goes on.

        A copy of the folder, on another machine say, is another try: two that wrote as one would spoil it.
        """
        marker = read_marker(self.root)
        return marker.token if marker is not None and marker.url == self.url else None

    def note_token(self) -> None:
        """Write into the run folder which try it is, once it has begun: this machine finds it by that.

        Raises:
            OSError: the file cannot be written.
        """
        if self._token is not None and self._find_token() is None:
            record = {"url": self.url, "try": self._token, "stamp": _make_stamp(self.root)}
            write_whole(self.root / MARKER, json.dumps({**record, "node": platform.node()}))

    def _write(self, parcel: Parcel) -> Entry:
        """Write an object unless it is there as it is here."""
        return self._put(*parcel.read())

    def _put(self, entry: Entry, content: bytes) -> Entry:
        if self._there.get(entry.place) != entry:
            bucket, to, other = self.part.bucket, f"{self._prefix}/{entry.place}", self.elsewhere.get(entry)
            if other is None or not bucket.copy(f"{other}/{entry.place}", to):
                bucket.put(to, content)
        return entry

    def _check_same(self, entries: Iterable[Entry]) -> Done:
        """Check that what counts there is what is here.

        Raises:
            RemoteError: it is not.
        """
        done = self.part.done()
        if done is None or done.digest != digest_of(entries):
            raise RemoteError(
                f"{self._place} is done by another try, which counts. Nothing of it was changed. Push under "
                "another name: `--name NAME`."
            )
        return done
