"""Puts a run at a URL."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from pytest_browsereval.capture.trajectory import write_whole
from pytest_browsereval.datasets.ids import safe_folder, safe_id
from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.claims import Part, check_token, new_token
from pytest_browsereval.features.remote.listing import (
    MARKER,
    Entry,
    Parcel,
    digest_of,
    list_parcels,
    read_segments,
    write_listing,
    write_segment,
)
from pytest_browsereval.features.remote.threads import map_apart
from pytest_browsereval.run.shards import Parts, Shard
from pytest_browsereval.run.store import RunStore

SEGMENT = 500
"""Objects that a segment lists: what a push that is cut off has to send again at most."""


def check_name(name: str) -> None:
    """Refuse the name of a run at a URL that is not one plain folder there, and in the cache of any system.

    Raises:
        RemoteError: it is not.
    """
    if not name or safe_id(name) != name:  # a URL's %2e%2e would lead out of the folder
        raise RemoteError(
            f"{name[:80]!a} cannot be the name of a run at a URL. Take up to 100 of A-Z a-z 0-9 . _ -, "
            "such as nightly-2026-11-25."
        )


class Push:
    """A run folder on its way to a URL.

    Args:
        root: the run's folder.
        url: of the folder that the runs of all evals are in.
        name: of the run there; its id by default. Shards of one run need the same.
        is_ours: whether the process that writes the run is this one; others have to have ended.

    Raises:
        UsageError: a process writes the run, it is not one that can be pushed, or there is no key.
    """

    def __init__(self, root: Path, url: str, name: str | None = None, *, is_ours: bool = False) -> None:
        store = RunStore(root)
        store.check_version()
        if not is_ours:
            store.check_idle()
        manifest = store.manifest()
        eval_name = safe_folder(str(manifest.get("name") or root.resolve().parent.name))
        name = root.resolve().name if name is None else name
        check_name(name)
        parts = Parts.of_run(manifest)
        if parts is not None and len(parts.have) != 1:
            raise RemoteError(
                f"{root} was merged from some parts of a run. Merge all of them, and push that."
            )
        self.root = root
        self.part = Part(
            Bucket.open(f"{url.rstrip('/')}/{eval_name}/{name}", is_written=True),
            Shard(1, 1) if parts is None else Shard(parts.have[0], parts.of),
        )
        self.sent = 0
        """Objects that were written so far."""
        self._token: str | None = None
        self._there: dict[str, Entry] = {}
        self._segments = 0

    @property
    def url(self) -> str:
        """The URL of the run."""
        return self.part.bucket.url

    def send(self, folders: Sequence[Path] | None = None) -> list[Entry]:
        """Write the objects that are not there, or have changed; return all that there have to be, as sent.

        Args:
            folders: of attempts that are finished; None for all of the run.

        Raises:
            UsageError: something else is there already, or the store cannot be used.
            OSError: a file cannot be read.
        """
        parcels = list_parcels(self.root, folders)
        if self._token is None:
            if self.part.done() is not None:
                entries = [parcel.read()[0] for parcel in parcels]
                self._check_same(entries)
                return entries
            self._begin()
        found = map_apart(_read, parcels)
        missing = [parcel for parcel, entry in found if self._there.get(entry.place) != entry]
        for first in range(0, len(missing), SEGMENT):
            entries = map_apart(self._write, missing[first : first + SEGMENT])
            self._segments += 1
            write_segment(self.part.bucket, self._prefix, self._segments, entries)
            self._there |= {entry.place: entry for entry in entries}
            self.sent += len(entries)
        # A file that a program still writes may have changed between the two looks: what was sent counts.
        return [self._there[entry.place] for _, entry in found]

    def finish(self) -> int:
        """Have the run count there, whole; return how many objects it has.

        Raises:
            UsageError: another try counts already or has taken over, or the store cannot be used.
            OSError: a file cannot be read.
        """
        entries = self.send()
        if self._token is None:  # it counts already
            return len(entries)
        if not self.part.is_held_by(self._token):
            raise RemoteError(f"{self._place}: another try has taken this part over. Nothing counts yet.")
        write_listing(self.part.bucket, self._prefix, entries)
        self.part.finish(self._token, digest_of(entries))
        self._check_same(entries)
        return len(entries)

    @property
    def _place(self) -> str:
        return f"{self.url}/{self.part.path}"

    @property
    def _prefix(self) -> str:
        return self.part.prefix(str(self._token))

    def _begin(self) -> None:
        self.part.bucket.check_conditions()
        token = self._find_token()
        self.part.claim(token)
        self._there, self._segments = read_segments(self.part.bucket, self.part.prefix(token))
        self._token = token

    def _find_token(self) -> str:
        """Return the name of this folder's try there: a push that was cut off goes on."""
        marker = self.root / MARKER
        if marker.is_symlink() or (marker.exists() and not marker.is_file()):  # a pipe would never end
            raise RemoteError(f"{marker} is not a plain file. Remove it.")
        with suppress(OSError, ValueError, TypeError, KeyError):
            known = json.loads(marker.read_bytes())
            if known["url"] == self.url:
                return check_token(known["try"])
        token = new_token()
        write_whole(marker, json.dumps({"url": self.url, "try": token}))
        return token

    def _write(self, parcel: Parcel) -> Entry:
        entry, content = parcel.read()
        self.part.bucket.put(f"{self._prefix}/{entry.place}", content)
        return entry

    def _check_same(self, entries: Iterable[Entry]) -> None:
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


def _read(parcel: Parcel) -> tuple[Parcel, Entry]:
    return parcel, parcel.read()[0]
