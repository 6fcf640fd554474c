"""Puts a run at a URL."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Self

from pytest_browsereval.datasets.ids import safe_folder, safe_id
from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.claims import Done, OvertakenError, Part, check_division, new_token
from pytest_browsereval.features.remote.files import describe_content, list_paths
from pytest_browsereval.features.shared.threads import map_apart
from pytest_browsereval.run.lookup import LATEST, LATEST_ON
from pytest_browsereval.run.selection import SELECTED_FILE
from pytest_browsereval.run.shards import Parts, Shard
from pytest_browsereval.run.store import RunStore
from pytest_browsereval.run_files import read_written
from pytest_browsereval.runs.lines import ATTEMPTS, list_files

BEGUN = ("manifest.json", SELECTED_FILE)
"""Files of a run that are written before its first attempt: it is resumed by these."""


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


class Push:
    """A run folder on its way to a URL, as a try of its own there.

    Args:
        root: the run's folder.
        part: what it is there.
    """

    def __init__(self, root: Path, part: Part) -> None:
        self.root = root
        self.part = part
        self.url = part.bucket.url
        """Of the run."""
        self._token = new_token()
        self._claim = 0
        self._sent: dict[str, str] = {}
        """Size and hash of what was sent, by paths."""
        self._places: set[str] = set()
        """The folders of attempts that were sent."""

    @classmethod
    def of_run(cls, root: Path, url: str, name: str | None = None) -> Self:
        """Return the push of a run that is there.

        Args:
            root: the run's folder.
            url: of the folder that the runs of all evals are in.
            name: of the run there; its id by default. Shards of one run need the same.

        Raises:
            UsageError: a process writes the run, it is not one that can be pushed, or there is no key.
        """
        store = RunStore(root)
        store.run.check_version()
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

    def hold(self) -> None:
        """Claim the part once the run has begun, so that an earlier session which still works on it stops.

        Raises:
            OvertakenError: another session has claimed it since.
            RemoteError: the store cannot be used.
        """
        if not self._claim:
            if (self.root / "manifest.json").is_file():
                self._claim = self.part.claim(self._token)
        elif self.part.is_taken_over(self._claim):
            raise OvertakenError(
                f"{self.part.url}: another try has taken this part over, and its work is to count."
            )

    def send_finished(self) -> None:
        """Write the evidence of attempts that have finished since the last time, then the lines of all.

        Raises:
            UsageError: the store cannot be used.
            OSError: a file cannot be read.
        """
        names = [f"{ATTEMPTS}/{name}" for name in list_files(self.root)]
        lines = {path: self._read(path) for path in names}  # of attempts whose evidence is there by now
        home, places = self.root.resolve(), set()
        for attempt in RunStore(self.root).run.update_lines().list_all():
            folder = home / attempt.place
            if folder.is_dir() and folder.resolve() == folder:  # an agent's program may have written a line
                places.add(attempt.place)
        if not (new := places - self._places):
            return
        self._send(name for name in BEGUN if (self.root / name).is_file())
        self._send(path for place in sorted(new) for path in list_paths(self.root, place))
        self._places |= new
        for path, content in lines.items():
            self._put(path, content[: content.rfind(b"\n") + 1])

    def send(self) -> dict[str, str]:
        """Write all of the run, evidence first; return size and hash of the files as they were sent.

        Raises:
            UsageError: the store cannot be used.
            OSError: a file cannot be read.
        """
        paths = list(list_paths(self.root))
        check_division(self.part)
        evidence = [path for path in paths if path.startswith("tasks/")]
        others = [path for path in paths if not path.startswith("tasks/")]
        return {**self._send(evidence), **self._send(others)}

    def finish(self) -> int:
        """Have the run count there, whole; return how many objects it has.

        Raises:
            UsageError: another try counts already or has taken over, or the store cannot be used.
            OSError: a file cannot be read.
        """
        done = self.part.done()
        if done is not None:
            files = {path: describe_content(self._read(path)) for path in list_paths(self.root)}
        else:
            files = self.send()
            if self._claim:
                self.hold()
            done = self.part.finish(Done(token=self._token, files=files))
        if done.files != files:
            raise RemoteError(
                f"{self.part.url} is done by another try, which counts. Nothing of it was changed. Push "
                "under another name: `--name NAME`."
            )
        return len(files)

    def _send(self, paths: Iterable[str]) -> dict[str, str]:
        """Write files that are not there, or have changed; each is read once."""
        return dict(map_apart(lambda path: (path, self._put(path, self._read(path))), paths))

    def _read(self, path: str) -> bytes:
        return read_written(self.root / path)

    def _put(self, path: str, content: bytes) -> str:
        known = describe_content(content)
        if self._sent.get(path) != known:
            self.part.bucket.put(f"{self.part.prefix(self._token)}/{path}", content)
            self._sent[path] = known
        return known
