"""Brings a run from a URL: into a folder of somebody's choice, or once into the cache."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.claims import PARTS, Done, Part, list_parts
from pytest_browsereval.features.remote.files import is_of_run, take_known
from pytest_browsereval.features.remote.push import Marker, read_marker
from pytest_browsereval.features.remote.threads import map_apart
from pytest_browsereval.run.lookup import PARTIAL, Runs
from pytest_browsereval.run.shards import Parts, Shard
from pytest_browsereval.run.store import COPY, RunStore, check_new
from pytest_browsereval.run_files import write_whole
from pytest_browsereval.runs.attempt import find_place
from pytest_browsereval.runs.lines import ATTEMPTS, list_files, parse_line, read_raw

NAMES = "files.json"
"""Next to a copy in the cache: the names of the files in it."""

MOST_LOOKED_AT = 50
"""Of the newest run folders of this machine, for the one that a try has left."""

_PART_OF_RUN = re.compile(rf"(.+)/{PARTS}/(\d+-of-\d+)")


def split_url(url: str) -> tuple[str, str]:
    """Return the URL of a run and the name of the part that a URL means, "" for all of it."""
    match = _PART_OF_RUN.fullmatch(url.rstrip("/"))
    return (match[1], match[2]) if match else (url.rstrip("/"), "")


def find_parts(url: str) -> list[Part]:
    """Return the parts that a URL means.

    Raises:
        RemoteError: there are none, or the store cannot be used.
    """
    run, name = split_url(url)
    parts = [part for part in list_parts(Bucket.open(run)) if name in ("", part.name)]
    if not parts:
        raise RemoteError(f"there is no run at {url}. Give the URL of a run: FOLDER/EVAL/ID.")
    return parts


# -- what is done


def fetch(url: str, *, with_files: bool = True) -> Sequence[Path]:
    """Return the folders of the parts of a run, from the cache if they are there: what is done never changes.

    Args:
        url: of a run, or of one part of it.
        with_files: whether pictures, traces and other files of attempts are needed beside their records.

    Raises:
        UsageError: there is no run, a part of it is not done, or the store cannot be used.
    """
    from platformdirs import user_cache_path  # of the extra

    cache = user_cache_path("browsereval") / "runs"
    return [_keep(part, done, cache, with_files=with_files) for part, done in _find(url)]


def pull_run(url: str, folder: Path) -> None:
    """Bring a run into a new folder, in which it can be graded again, labelled or resumed.

    Raises:
        UsageError: there is no such run, the folder is not new, or the store cannot be used.
    """
    check_new(folder)
    found = _find(url)
    if len(found) > 1:
        run = found[0][0].bucket.url
        raise RemoteError(
            f"{run} is a run in {len(found)} parts. Run `browsereval merge {run} -o {folder}`, "
            f"or pull one part: {found[0][0].url}"
        )
    _bring_done(*found[0], folder)


def _find(url: str) -> list[tuple[Part, Done]]:
    """Return the parts that a URL means, each with the try that counts."""
    parts, (run, name) = find_parts(url), split_url(url)
    done = [(part, part.done()) for part in parts]
    if open_ones := [part.path for part, one in done if one is None]:
        raise RemoteError(
            f"{run}: {', '.join(open_ones)} is begun and not done, so nobody knows which try of it counts. "
            "Run `browsereval push` where it was made, or the part again."
        )
    found = [(part, one) for part, one in done if one is not None]
    if not name:
        _check_whole(found)
    return found


def _check_whole(found: Sequence[tuple[Part, Done]]) -> None:
    """Refuse a run of which a part has not begun yet: half of the rows would pass for all of them.

    A part that was to have no trial leaves nothing; each of the others knows it.
    """
    part, done = found[0]
    content = part.bucket.get(f"{part.prefix(done.token)}/manifest.json") or b"{}"
    try:
        parts = Parts.of_run(dict(json.loads(content)))
    except (ValueError, TypeError, OverflowError, RecursionError):
        parts = None  # it is damaged, which is found when it is brought
    have = {one.shard.number for one, _ in found}
    lacking = [shard for shard in parts.missing if shard.number not in have] if parts else []
    if lacking:
        missing = ", ".join(f"{shard.number}-of-{shard.of}" for shard in lacking)
        raise RemoteError(
            f"{part.bucket.url}: of this run {missing} is not there. Run it, or give what is there: "
            f"{part.url}"
        )


def _keep(part: Part, done: Done, cache: Path, *, with_files: bool) -> Path:
    """Return a copy of a try in the cache, with all that is needed.

    One with all files and one without are two: nothing is added to a copy, which others may be reading.
    """
    url, name = part.bucket.url, part.bucket.url.rpartition("/")[2]
    name += f"-{part.name}" if part.shard.of > 1 else ""
    keys = (f"{url}/{part.prefix(done.token)}\0{kind}" for kind in ("light", "whole"))
    light, whole = (cache / hashlib.sha256(key.encode()).hexdigest()[:16] / name for key in keys)
    if there := next((one for one in (light, whole)[with_files:] if _has_all(one)), None):
        return there
    folder = whole if with_files else light
    shutil.rmtree(folder.parent, ignore_errors=True)
    with _new_folder(folder.parent) as begun:
        copy = begun / name
        _bring_done(part, done, copy, with_files=with_files)
        write_whole(begun / NAMES, json.dumps(_list_files(copy)))
    return folder


def _has_all(folder: Path) -> bool:
    """Whether a copy has all files that were brought: systems remove old ones from caches one by one."""
    try:
        names = json.loads((folder.parent / NAMES).read_bytes())
        return (folder / "tasks").is_dir() and set(names) <= set(_list_files(folder))
    except (OSError, ValueError, TypeError):
        return False


def _list_files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def _bring_done(part: Part, done: Done, folder: Path, *, with_files: bool = True) -> None:
    """Bring the files of a try into a folder that is there only when all of them are as they have to be."""
    paths = [path for path in done.files if with_files or is_of_run(path)]
    with _new_folder(folder) as begun:
        (begun / "tasks").mkdir()
        if not with_files:
            (begun / PARTIAL).write_text(part.bucket.url, encoding="utf-8")
        for path in _bring(part, done.token, {path: done.files[path] for path in paths}, begun):
            raise RemoteError(f"{part.bucket.url}/{part.prefix(done.token)}/{path} is missing or damaged.")


def _bring(part: Part, token: str, files: Mapping[str, str], folder: Path) -> list[str]:
    """Bring files of a try; return the paths of those that are missing or damaged."""

    def bring(path: str) -> str:
        content = take_known(path, part.bucket.get(f"{part.prefix(token)}/{path}"), files[path])
        if content is None:
            return path
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
        return ""

    return list(filter(None, map_apart(bring, files)))


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
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
        begun.rename(folder)
    except OSError as error:
        if not folder.is_dir():  # another process was quicker with the same
            raise RemoteError(f"{folder} cannot be written: {error.strerror}.") from None
    finally:
        shutil.rmtree(begun, ignore_errors=True)


# -- what was interrupted


@dataclass(frozen=True)
class Interrupted:
    """A try that was not finished."""

    part: Part
    token: str
    files: Mapping[str, str]
    """What it has sent."""

    @property
    def attempts(self) -> set[str]:
        """The folders of the attempts that it has finished."""
        return {path.rpartition("/")[0] for path in self.files if path.endswith(f"/{COPY}")}


def find_interrupted(part: Part) -> Interrupted | None:
    """Return the try of a part that has most; None if none has an attempt to go on from.

    The last one need not have most: it may have ended before it had sent on what the one before it had.

    Raises:
        RemoteError: the store cannot be used, or what is there is damaged.
    """
    tokens = filter(None, dict.fromkeys(part.holders()))
    tries = [Interrupted(part, token, part.sent(token)) for token in tokens]
    best = max(tries, key=lambda one: len(one.attempts), default=None)
    return best if best is not None and best.attempts else None


def find_own(home: Path, part: Part) -> Path | None:
    """Return the folder of the try that holds a part, if it was made on this machine and has ended.

    It has what was finished after the last sending. On another machine that shares the disk nobody can tell
    that the try has ended.

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
            is_own = read_marker(root) == Marker(part.bucket.url, str(holders[-1]), platform.node())
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
        _bring_done(part, done, folder)
    elif (found := find_interrupted(part)) is not None:
        bring_interrupted(found, folder)
    else:
        raise RemoteError(f"{url}: no attempt of {part.path} is finished there. Run it anew.")


def bring_interrupted(found: Interrupted, folder: Path) -> None:
    """Bring it into a new folder: an attempt of which anything is missing or damaged is left out.

    Raises:
        RemoteError: the store cannot be used, the run's manifest is damaged, or the folder is not new.
    """
    with _new_folder(folder) as begun:
        damaged = set(_bring(found.part, found.token, found.files, begun))
        if "manifest.json" in damaged:
            raise RemoteError(f"{found.part.url}: manifest.json is missing or damaged.")
        whole = set()
        for place in found.attempts:
            if any(path.startswith(f"{place}/") for path in damaged):
                shutil.rmtree(begun / place)
            else:
                whole.add(place)
        _cut_lines(begun, whole)


def _cut_lines(root: Path, whole: set[str]) -> None:
    """Remove the lines of attempts that are not there: these are made again."""
    for name in list_files(root):
        kept = [line for _, line in read_raw(root, name) if _find_place(line) in whole]
        write_whole(root / ATTEMPTS / name, b"".join(line + b"\n" for line in kept))


def _find_place(line: bytes) -> str:
    with suppress(ValueError):
        if (data := parse_line(line)) is not None:
            return find_place(data)
    return ""
