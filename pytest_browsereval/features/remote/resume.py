"""Brings what an interrupted try at a part has finished, so that another machine resumes it."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pytest_browsereval.features.remote.bucket import RemoteError
from pytest_browsereval.features.remote.claims import Part, check_token
from pytest_browsereval.features.remote.listing import Entry, read_segments
from pytest_browsereval.features.remote.pull import (
    DamagedError,
    bring,
    bring_whole,
    find_parts,
    new_folder,
)
from pytest_browsereval.features.remote.push import Marker, read_marker
from pytest_browsereval.features.remote.threads import map_apart
from pytest_browsereval.run.lookup import Runs
from pytest_browsereval.run.shards import Shard
from pytest_browsereval.run.store import COPY, RunStore
from pytest_browsereval.run_files import write_whole
from pytest_browsereval.runs.attempt import find_place
from pytest_browsereval.runs.lines import ATTEMPTS, list_files, parse_line, read_raw

MOST_LOOKED_AT = 50
"""Of the newest run folders of this machine, for the one that a try has left."""

_DEPTH = 5
"""Names from ``tasks`` down to an attempt, both included."""


@dataclass(frozen=True)
class Interrupted:
    """A try that was not finished."""

    part: Part
    token: str
    entries: Mapping[str, Entry]
    """The objects that it has listed, by their places."""

    @property
    def attempts(self) -> set[str]:
        """The folders of the attempts that it has finished: of each, the bundle is listed last."""
        return {entry.path for entry in self.entries.values() if entry.bundle}


def find_interrupted(part: Part) -> Interrupted | None:
    """Return the try of a part that has most; None if none has an attempt to go on from.

    The last one need not have most: it may have ended before it had sent on what the one before it had.

    Raises:
        RemoteError: the store cannot be used, or what is there is damaged.
    """
    best: Interrupted | None = None
    for holder in dict.fromkeys(part.holders()):
        with suppress(ValueError):
            token = check_token(holder)
            found = Interrupted(part, token, read_segments(part.bucket, part.prefix(token))[0])
            has_begun = any(entry.path == "manifest.json" for entry in found.entries.values())
            if has_begun and len(found.attempts) >= max(1, len(best.attempts) if best else 0):
                best = found
    return best


def find_own(home: Path, part: Part) -> Path | None:
    """Return the folder of the try that holds a part, if it was made on this machine and has ended.

    It has what was finished in the last seconds before a kill, and nothing of it has to be brought or sent
    again. On another machine that shares the disk nobody can tell that the try has ended.

    Args:
        home: the folder of the eval's runs.
        part: which one.

    Raises:
        RemoteError: the store cannot be used.
    """
    if not (holders := part.holders()):
        return None
    for root in Runs(home, (home,)).newest_first()[:MOST_LOOKED_AT]:
        with suppress(RemoteError):
            marker = read_marker(root)
            is_own = marker == Marker(part.bucket.url, str(holders[-1]), platform.node())
            if is_own and RunStore(root).locks.is_idle():
                return root
    return None


def bring_run(url: str, shard: Shard | None, folder: Path) -> None:
    """Bring a run at a URL into a new folder, in which it is resumed or graded again.

    Args:
        url: of a run, or of one part of it: one that is done, or what there is of it.
        shard: which part; None for the only one.
        folder: of the copy.

    Raises:
        UsageError: there is no such run, nothing of it is finished, or the store cannot be used.
    """
    parts = find_parts(url)
    of_it = [part for part in parts if shard in (None, part.shard)]
    if len(of_it) != 1:
        of = f"has {', '.join(part.path for part in parts)}, and this session is --eval-shard={shard}"
        several = f"is a run in {len(parts)} parts: resume one of them with --eval-shard=I/N, or give"
        raise RemoteError(
            f"{url} {several} {url}/{parts[0].path}." if shard is None else f"{url} {of}. Name that part."
        )
    part = of_it[0]
    if (done := part.done()) is not None:
        bring_whole(part, done, folder)
        return
    found = find_interrupted(part)
    if found is None:
        raise RemoteError(f"{url}: no attempt of {part.path} is finished there. Run it anew.")
    bring_interrupted(found, folder)


def bring_interrupted(found: Interrupted, folder: Path) -> dict[Entry, str]:
    """Bring it into a new folder: an attempt of which anything is missing or damaged is left out.

    Returns:
        The objects that are there as they have to be, with the prefix of the try.

    Raises:
        RemoteError: the store cannot be used, the run's manifest is damaged, or the folder is not new.
    """
    attempts, prefix = found.attempts, found.part.prefix(found.token)
    taken = {None, *attempts}
    entries = [one for one in found.entries.values() if _attempt_of(one) in taken]
    with new_folder(folder) as begun:

        def is_damaged(entry: Entry) -> bool:
            try:
                bring(found.part.bucket, prefix, entry, begun)
            except DamagedError:
                if entry.path == "manifest.json":
                    raise
                return True
            return False

        checked = map_apart(lambda entry: (entry, is_damaged(entry)), entries)
        _drop(begun, (_attempt_of(entry) or entry.path for entry, damaged in checked if damaged))
        _drop(begun, (name for name in attempts if not (begun / name / COPY).is_file()))
        _cut_lines(begun)
    return {entry: prefix for entry, damaged in checked if not damaged}


def _attempt_of(entry: Entry) -> str | None:
    """Return the folder of the attempt that an object is of."""
    parts = PurePosixPath(entry.path).parts
    return "/".join(parts[:_DEPTH]) if parts[0] == "tasks" and len(parts) >= _DEPTH else None


def _cut_lines(root: Path) -> None:
    """Remove the lines of attempts that are not there: these are made again."""
    for name in list_files(root):
        lines = [line for _, line in read_raw(root, name)]
        kept = [line for line in lines if _is_there(root, line)]
        if len(kept) < len(lines):
            write_whole(root / ATTEMPTS / name, b"".join(line + b"\n" for line in kept))


def _is_there(root: Path, line: bytes) -> bool:
    try:
        data = parse_line(line)
    except ValueError:  # its reader names it
        return True
    return data is not None and (root / find_place(data)).is_dir()


def _drop(root: Path, names: Iterable[str]) -> None:
    for name in names:
        shutil.rmtree(root / name, ignore_errors=True)
