"""Puts a run at a URL."""

from __future__ import annotations

import json
import platform
import threading
from collections.abc import Iterable
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
from pytest_browsereval.features.remote.files import MARKER, cut_lines, describe_content, list_paths
from pytest_browsereval.features.remote.threads import map_apart
from pytest_browsereval.report.links import PAGE
from pytest_browsereval.run.lookup import LATEST, LATEST_ON
from pytest_browsereval.run.selection import SELECTED_FILE
from pytest_browsereval.run.shards import Parts, Shard
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.run_files import make_stamp, read_written, write_whole
from pytest_browsereval.runs.lines import ATTEMPTS, list_files

BEGUN = ("manifest.json", SELECTED_FILE)
"""Files of a run that are written before its first attempt: it is resumed by these."""

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
    """The name of the machine."""


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
        if known["stamp"] == _make_stamp(root) and (token := check_token(known["try"])):
            return Marker(str(known["url"]), token, str(known["node"]))
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
        self.url = part.bucket.url
        """Of the run."""
        self._token: str | None = None
        self._claim = 0
        self._there: dict[str, str] = {}
        """Size and hash of what was sent, by paths."""
        self._places: set[str] = set()
        """The folders of attempts that were sent."""
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
    def took_over(self) -> bool:
        """Whether somebody had claimed the part before."""
        return self._claim > 1

    def begin(self) -> None:
        """Take the part over from another try, unless that was done.

        Raises:
            RemoteError: another try has taken it over from this one, the run was divided otherwise, or the
                store cannot be used.
        """
        with self._beginning:  # a session sends in a thread of its own
            if self._token is None:
                self.part.bucket.check_conditions()
                check_division(self.part)
                marker = read_marker(
                    self.root
                )  # a copy of the folder, on another machine say, is another try
                token = marker.token if marker is not None and marker.url == self.url else new_token()
                self._claim = self.part.claim(token)
                self._token = token

    def note_token(self) -> None:
        """Write into the run folder which try it is, once it has begun: this machine finds it by that.

        Raises:
            OSError: the file cannot be written.
        """
        if self._token is not None and read_marker(self.root) != (own := self._marker):
            record = {"url": own.url, "try": own.token, "node": own.node, "stamp": _make_stamp(self.root)}
            write_whole(self.root / MARKER, json.dumps(record))

    @property
    def _marker(self) -> Marker:
        return Marker(self.url, str(self._token), platform.node())

    def is_taken_over(self) -> bool:
        """Whether another try has taken the part over since this one has begun.

        Raises:
            RemoteError: the store cannot be used.
        """
        return self._token is not None and self.part.is_taken_over(self._claim)

    def send_attempts(self, folders: Iterable[Path]) -> None:
        """Write the evidence of finished attempts, then the lines of those that are there.

        Args:
            folders: of the attempts.

        Raises:
            UsageError: the store cannot be used.
            OSError: a file cannot be read.
        """
        self.begin()
        self.note_token()
        self._send(name for name in BEGUN if (self.root / name).is_file())
        for folder in folders:
            place = folder.relative_to(self.root).as_posix()
            self._send(list_paths(self.root, place))
            self._places.add(place)
        for name in list_files(self.root):
            path = f"{ATTEMPTS}/{name}"
            self._put(path, cut_lines(read_written(self.root / path), self._places, self.root))
        self.part.note_sent(str(self._token), self._there)

    def send(self) -> dict[str, str]:
        """Write all of the run, evidence first; return size and hash of the files as they were sent.

        Raises:
            UsageError: the store cannot be used.
            OSError: a file cannot be read.
        """
        paths = sorted(list_paths(self.root), key=lambda path: not path.startswith("tasks/"))
        self.begin()
        self.note_token()
        evidence = [path for path in paths if path.startswith("tasks/")]
        files = {**self._send(evidence), **self._send(paths[len(evidence) :])}
        self.part.note_sent(str(self._token), files)
        return files

    def finish(self, ended: int | None = None, settings: str | None = None) -> int:
        """Have the run count there, whole; return how many objects it has.

        Args:
            ended: the exit code of the session that has made it; None where nobody knows.
            settings: a digest of what decided about that code besides the results; None where nobody knows.

        Raises:
            UsageError: another try counts already or has taken over, or the store cannot be used.
            OSError: a file cannot be read.
        """
        done = self.part.done()
        if done is not None:
            here = {path: describe_content(self._read(path)) for path in list_paths(self.root)}
            self._check_same(done, here)
            return len(here)
        files = self.send()
        if self.part.is_taken_over(self._claim):
            raise OvertakenError(self.part.overtaken)
        done = self.part.finish(Done(str(self._token), files, ended, settings))
        self._check_same(done, files)
        with suppress(RemoteError):  # the run counts without it
            self._write_page(done)
        return len(files)

    def _check_same(self, done: Done, files: dict[str, str]) -> None:
        if done.files != files:
            raise RemoteError(
                f"{self.part.url} is done by another try, which counts. Nothing of it was changed. Push "
                "under another name: `--name NAME`."
            )

    def _write_page(self, done: Done) -> None:
        """Write a page that leads to that of the try: an address that can be told before there is one."""
        if PAGE in done.files:
            there = f"try-{done.token}/{PAGE}"
            self.part.bucket.put(f"{self.part.path}/{PAGE}", _PAGE.format(there=there).encode())
            if self.part.shard.of == 1:
                self.part.bucket.put(PAGE, _PAGE.format(there=f"{self.part.path}/{there}").encode())

    def _send(self, paths: Iterable[str]) -> dict[str, str]:
        """Write files that are not there, or have changed; each is read once."""
        return dict(map_apart(lambda path: (path, self._put(path, self._read(path))), paths))

    def _read(self, path: str) -> bytes:
        return read_written(self.root / path)

    def _put(self, path: str, content: bytes) -> str:
        known = describe_content(content)
        if self._there.get(path) != known:
            self.part.bucket.put(f"{self.part.prefix(str(self._token))}/{path}", content)
            self._there[path] = known
        return known
