"""Takes a run to a URL; brings it from there into a folder that the user names, or once into the cache."""

from __future__ import annotations

import hashlib
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from pytest_browsereval.datasets.ids import safe_folder, safe_id
from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.claims import (
    PARTS,
    Done,
    OvertakenError,
    Part,
    check_path,
    describe_content,
    list_parts,
    list_paths,
)
from pytest_browsereval.features.shared.threads import map_apart
from pytest_browsereval.report.links import PAGE
from pytest_browsereval.run.lookup import LATEST, LATEST_ON
from pytest_browsereval.run.selection import SELECTED_FILE
from pytest_browsereval.run.shards import Parts, Shard
from pytest_browsereval.run.store import COPY, RunStore, check_new
from pytest_browsereval.run_files import read_written
from pytest_browsereval.runs.lines import ATTEMPTS, list_files
from pytest_browsereval.runs.run import PARTIAL, StoredRun

MANIFEST = "manifest.json"
BEGUN = (MANIFEST, SELECTED_FILE)
"""Files of a run that are written before its first attempt: it is resumed by these."""

_EVIDENCE = ("tasks/", PAGE.removesuffix(".html"))
"""How the paths of files begin that only a look at attempts needs."""
_TRY = re.compile(r"try-([0-9a-f]{32})/(.+)", re.DOTALL)


def check_name(name: str) -> None:
    """Refuse the name of a run at a URL that is not one plain folder there, or that stands for another run.

    Raises:
        RemoteError: it is not.
    """
    if not name or safe_id(name) != name or name == LATEST or name.startswith(LATEST_ON):  # as %2e%2e is not
        how = f"Use up to 100 of A-Z a-z 0-9 . _ -, such as nightly-2026-11-25; {LATEST} is the newest run."
        raise RemoteError(f"{name[:80]!a} cannot be the name of a run at a URL. {how}")


class Push:
    """A run folder on its way to a URL, as a try of its own there.

    What the store refuses raises ``UsageError``, a file that cannot be read ``OSError``.

    Args:
        root: the run's folder.
        part: what it is there.
    """

    def __init__(self, root: Path, part: Part) -> None:
        self.root = root
        self.part = part
        self.url = part.bucket.url
        """Of the run."""
        self._token = secrets.token_hex(16)
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
        is_part = parts is not None and len(parts.have) == 1  # merged of several, it is a run of its own
        bucket = Bucket.open(f"{url.rstrip('/')}/{eval_name}/{name}", is_written=True)
        return cls(root, Part(bucket, Shard(parts.have[0], parts.of) if parts and is_part else Shard(1, 1)))

    def hold(self) -> None:
        """Claim the part once the run has begun, so that an earlier session which still works on it stops.

        Raises:
            OvertakenError: another session has claimed it since.
        """
        if not self._claim:
            if (self.root / MANIFEST).is_file():
                self._claim = self.part.claim(self._token)
        elif self.part.is_taken_over(self._claim):
            why = "another session has taken over this part, and that session's results count"
            raise OvertakenError(f"{self.part.url}: {why}. What was done here is in {self.root}")

    def send_finished(self) -> None:
        """Write the evidence of attempts that have finished since the last time, then the lines of all."""
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
        """Write all of the run, evidence first; return size and hash of the files as they were sent."""
        paths = list(list_paths(self.root))
        list_parts(self.part.bucket, self.part.shard.of)
        self._send(path for path in paths if path in BEGUN)
        evidence = [path for path in paths if path.startswith("tasks/")]
        others = [path for path in paths if not path.startswith("tasks/")]
        return {**self._send(evidence), **self._send(others)}

    def finish(self) -> int:
        """Have the run count there, whole; return how many objects it has.

        Raises:
            UsageError: another try counts already or has taken over.
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
            how = "It is unchanged. Push under another name: `--name NAME`."
            raise RemoteError(f"{self.part.url} already has a finished run with other files. {how}")
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


# -- what is done


def fetch(url: str, *, with_files: bool = True) -> Sequence[Path]:
    """Return the folders of the parts of a run, from the cache if they are there: what is done never changes.

    A copy with all files and one without are two: nothing is added to a copy, which others may be reading.

    Args:
        url: of a run, or of one part of it.
        with_files: whether pictures, traces and other files of attempts are needed next to their records.

    Raises:
        UsageError: there is no run, a part of it is not done, or the store cannot be used.
    """
    from platformdirs import user_cache_path  # of the extra

    found, folders = _find(url), []
    for part, done in found:
        name = part.bucket.url.rpartition("/")[2] + (f"-{part.name}" if part.shard.of > 1 else "")
        key = f"{part.bucket.url}/{part.prefix(done.token)}\0{with_files}"
        home = user_cache_path("browsereval") / "runs" / hashlib.sha256(key.encode()).hexdigest()[:16]
        left_out = () if with_files else _EVIDENCE
        files = {path: known for path, known in done.files.items() if not path.startswith(left_out)}
        if not all((home / name / path).is_file() for path in files):  # systems remove old files from caches
            shutil.rmtree(home, ignore_errors=True)
            with _new_folder(home / name) as begun:
                if not with_files:
                    (begun / PARTIAL).write_text(part.bucket.url, encoding="utf-8")
                _bring(part, done.token, files, begun)
        folders.append(home / name)
    _check_whole(url, found, folders[0])
    return folders


def pull_run(url: str, folder: Path) -> None:
    """Bring a run into a new folder, in which it can be graded again, labelled or resumed.

    Raises:
        UsageError: there is no such run, the folder is not new, or the store cannot be used.
    """
    check_new(folder)
    found = _find(url)
    part, done = found[0]
    if len(found) > 1:
        how = f"Run `browsereval merge {part.bucket.url} -o {folder}`, or pull one part: {part.url}"
        raise RemoteError(f"{part.bucket.url} is a run in {len(found)} parts. {how}")
    with _new_folder(folder) as begun:
        _bring(part, done.token, done.files, begun)
        _check_whole(url, found, begun)


def _find(url: str) -> list[tuple[Part, Done]]:
    """Return the parts that a URL means, each with the try that counts."""
    home, _, name = url.rstrip("/").partition(f"/{PARTS}/")
    parts = [part for part in list_parts(Bucket.open(home)) if name in ("", part.name)]
    done = [(part, part.done()) for part in parts]
    if not done:
        raise RemoteError(f"there is no run at {url}. Give the URL of a run: FOLDER/EVAL/ID.")
    if open_ones := [part.path for part, one in done if one is None]:
        begun = "was begun and is" if len(open_ones) == 1 else "were begun and are"
        how = "Run `browsereval push` where it was made, or the part again."
        raise RemoteError(f"{home}: {', '.join(open_ones)} {begun} not done. {how}")
    return [(part, one) for part, one in done if one is not None]


def _check_whole(url: str, found: Sequence[tuple[Part, Done]], folder: Path) -> None:
    """Refuse a run of which a part has not begun yet: half of the rows would pass for all of them.

    A part that was to have no trial leaves nothing; each of the others knows it.
    """
    part, parts = found[0][0], Parts.of_run(StoredRun(folder).read_manifest())
    have = {one.shard.number for one, _ in found}
    lacking = [shard for shard in parts.missing if shard.number not in have] if parts else []
    if lacking and f"/{PARTS}/" not in url:
        missing = ", ".join(f"{shard.number}-of-{shard.of}" for shard in lacking)
        why = f"{missing} of this run is missing. Run it, or give what is there: {part.url}"
        raise RemoteError(f"{part.bucket.url}: {why}")


def _bring(part: Part, token: str, files: Mapping[str, str | None], folder: Path) -> None:
    """Bring files of a try, all of them or none that counts.

    Args:
        part: of which it is.
        token: of the try.
        files: size and hash of each, by its path; None where nobody knows.
        folder: for them; a new one.

    Raises:
        RemoteError: one is missing or damaged.
    """
    (folder / "tasks").mkdir()

    def bring(path: str) -> None:
        content = part.bucket.get(f"{part.prefix(token)}/{path}")
        if content is None or files[path] not in (None, describe_content(content)):
            raise RemoteError(f"{part.bucket.url}/{part.prefix(token)}/{path} is missing or damaged.")
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)

    map_apart(bring, files)


@contextmanager
def _new_folder(folder: Path) -> Iterator[Path]:
    """Have a folder be there only when all of it is; gives the one to write into.

    Raises:
        RemoteError: it cannot be written.
    """
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    begun = Path(tempfile.mkdtemp(prefix=".pull-", dir=folder.parent))
    try:
        yield begun
        with suppress(OSError):  # it may be there and empty
            folder.rmdir()
        begun.rename(folder)
    except OSError as error:
        if not folder.is_dir():  # another process was quicker with the same
            raise RemoteError(f"{folder} cannot be written: {error.strerror}.") from None
    finally:
        shutil.rmtree(begun, ignore_errors=True)


# -- what was interrupted


def bring_interrupted(part: Part, folder: Path) -> bool:
    """Bring what there is of a part that is not done into a new folder; return whether there is an attempt.

    Of several tries the one that has most is brought: the last one may have ended before it had sent on what
    the one before it had.

    Raises:
        RemoteError: the store cannot be used, or the folder is not new.
    """
    tries: dict[str, list[str]] = {}
    for match in filter(None, map(_TRY.fullmatch, part.bucket.list_all(part.path))):
        tries.setdefault(match[1], []).append(check_path(match[2], part.url))
    counts = {
        token: sum(path.endswith(f"/{COPY}") for path in paths)
        for token, paths in tries.items()
        if MANIFEST in paths  # it is sent first: without it nothing can be resumed
    }
    if not any(counts.values()):
        return False
    token = max(counts, key=counts.__getitem__)
    with _new_folder(folder) as begun:
        _bring(part, token, dict.fromkeys(tries[token]), begun)
    return True
