"""Brings a run from a URL: into a folder of somebody's choice, or once into the cache."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.claims import PARTS, Done, Part, list_parts
from pytest_browsereval.features.remote.listing import (
    FILES,
    Entry,
    check_path,
    is_of_run,
    read_entry,
    read_listing,
)
from pytest_browsereval.features.remote.threads import map_apart
from pytest_browsereval.run.lookup import PARTIAL
from pytest_browsereval.run.shards import Parts
from pytest_browsereval.run.store import check_new
from pytest_browsereval.run_files import write_whole
from pytest_browsereval.runs.lines import ATTEMPTS

NAMES = "files.json"
"""Beside a copy in the cache: the names of the files in it."""

_PART_OF_RUN = re.compile(rf"(.+)/{PARTS}/(\d+-of-\d+)")


class DamagedError(RemoteError):
    """An object is missing, or is not what it has to be."""


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
    return [_keep(part, done, cache, with_files=with_files) for part, done in _find(url)[1]]


def _keep(part: Part, done: Done, cache: Path, *, with_files: bool) -> Path:
    """Return a copy of a try in the cache, with all that is needed.

    One with all files and one without are two: nothing is added to a copy, which others may be reading.
    """
    url, name = part.bucket.url, part.bucket.url.rpartition("/")[2]
    name += f"-{part.name}" * (part.shard.of > 1)
    keys = (f"{url}/{part.prefix(done.token)}\0{done.digest}\0{kind}" for kind in ("light", "whole"))
    light, whole = (cache / hashlib.sha256(key.encode()).hexdigest()[:16] / name for key in keys)
    if there := next((one for one in (light, whole)[with_files:] if _has_all(one)), None):
        return there
    folder = whole if with_files else light
    shutil.rmtree(folder.parent, ignore_errors=True)
    with new_folder(folder.parent) as begun:
        copy = begun / name
        if with_files:
            bring_whole(part, done, copy)
        else:
            _bring_light(part, done, copy)
        write_whole(begun / NAMES, json.dumps(_list_files(copy)))
    return folder


def _bring_light(part: Part, done: Done, folder: Path) -> None:
    """Bring what reports of a run need: its own files, with the lines of its attempts."""
    url, prefix = part.bucket.url, part.prefix(done.token)
    with new_folder(folder) as begun:
        (begun / PARTIAL).write_text(url, encoding="utf-8")
        (begun / "tasks").mkdir()
        entries = [read_entry(one, f"{url}/{part.path}") for one in done.files]
        own = [entry for entry in entries if is_of_run(entry.path) and not entry.bundle]
        map_apart(lambda entry: bring(part.bucket, prefix, entry, begun), own)


def _has_all(folder: Path) -> bool:
    """Whether a copy has all files that were brought: systems remove old ones from caches one by one."""
    try:
        names = json.loads((folder.parent / NAMES).read_bytes())
        return (folder / "tasks").is_dir() and set(names) <= set(_list_files(folder))
    except (OSError, ValueError, TypeError):
        return False


def _list_files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()]


def pull_run(url: str, folder: Path) -> None:
    """Bring a run into a new folder, in which it can be graded again, labelled or resumed.

    Raises:
        UsageError: there is no such run, the folder is not new, or the store cannot be used.
    """
    check_new(folder)
    bucket, found = _find(url)
    if len(found) > 1:
        raise RemoteError(
            f"{bucket.url} is a run in {len(found)} parts. Run `browsereval merge {bucket.url} -o {folder}`, "
            f"or pull one part: {bucket.url}/{found[0][0].path}"
        )
    part, done = found[0]
    bring_whole(part, done, folder)


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
    parts = [part for part in list_parts(Bucket.open(run)) if name in ("", part.path.rpartition("/")[2])]
    if not parts:
        raise RemoteError(f"there is no run at {url}. Give the URL of a run: FOLDER/EVAL/ID.")
    return parts


def _find(url: str) -> tuple[Bucket, list[tuple[Part, Done]]]:
    """Return the parts that a URL means, each with the try that counts."""
    parts, (run, name) = find_parts(url), split_url(url)
    bucket = parts[0].bucket
    done = [(part, part.done()) for part in parts]
    if open_ones := [part.path for part, one in done if one is None]:
        raise RemoteError(
            f"{run}: {', '.join(open_ones)} is begun and not done, so nobody knows which try of it counts. "
            "Run `browsereval push` where it was made, or the part again."
        )
    found = [(part, one) for part, one in done if one is not None]
    if not name:
        _check_whole(bucket, found)
    return bucket, found


def _check_whole(bucket: Bucket, found: Sequence[tuple[Part, Done]]) -> None:
    """Refuse a run of which a part has not begun yet: half of the rows would pass for all of them.

    A part that was to have no trial leaves nothing; each of the others knows it.
    """
    part, done = found[0]
    content = bucket.get(f"{part.prefix(done.token)}/{FILES}/manifest.json") or b"{}"
    try:
        parts = Parts.of_run(dict(json.loads(content)))
    except (ValueError, TypeError, OverflowError, RecursionError):
        parts = None  # it is damaged, which is found when it is brought
    have = {one.shard.number for one, _ in found}
    lacking = [shard for shard in parts.missing if shard.number not in have] if parts else []
    if lacking:
        missing = ", ".join(f"{shard.number}-of-{shard.of}" for shard in lacking)
        raise RemoteError(
            f"{bucket.url}: of this run {missing} is not there. Run it, or give what is there: "
            f"{bucket.url}/{part.path}"
        )


def bring_whole(part: Part, done: Done, folder: Path) -> None:
    """Bring the files of a try into a folder that is there only when all of them are.

    Args:
        part: of the run.
        done: the try.
        folder: of the copy.
    """
    prefix = part.prefix(done.token)
    with new_folder(folder) as begun:
        taken, digest = read_listing(part.bucket, prefix, begun)
        if digest != done.digest:
            raise RemoteError(
                f"{part.bucket.url}/{prefix} is damaged: its objects are not those that are done."
            )
        map_apart(lambda entry: bring(part.bucket, prefix, entry, begun), taken)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
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


def bring(bucket: Bucket, prefix: str, entry: Entry, folder: Path) -> None:
    """Bring an object.

    Args:
        bucket: that has it.
        prefix: of the try.
        entry: what it has to be.
        folder: of the run.

    Raises:
        DamagedError: it is missing, or something else.
        RemoteError: the store cannot be used.
        OSError: it cannot be written.
    """
    place = f"{bucket.url}/{prefix}/{entry.place}"
    content = bucket.get(f"{prefix}/{entry.place}")
    if content is not None and entry.path.startswith(f"{ATTEMPTS}/"):
        content = content[: entry.size]  # it may have grown since it was listed
    if content is None or hashlib.sha256(content).hexdigest() != entry.sha256:
        raise DamagedError(f"{place} is {'missing' if content is None else 'damaged'}.")
    target = folder / entry.path
    if not entry.bundle:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        return
    target.mkdir(parents=True, exist_ok=True)
    try:
        files = dict(json.loads(content)["files"])
    except (ValueError, TypeError, KeyError, RecursionError):
        raise DamagedError(f"{place} is damaged.") from None
    for name, text in files.items():
        check_path(f"{entry.path}/{name}", place)
        try:
            content = str(text).encode("utf-8", "surrogateescape")
        except UnicodeEncodeError:
            raise DamagedError(f"{place} is damaged.") from None
        (target / name).write_bytes(content)
