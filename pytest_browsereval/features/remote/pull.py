"""Brings a run from a URL: into a folder that the user names, or once into the cache."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from pytest_browsereval.features.remote.bucket import Bucket, RemoteError
from pytest_browsereval.features.remote.claims import PARTS, Done, Part, list_parts
from pytest_browsereval.features.remote.files import check_path, describe_content, is_of_run
from pytest_browsereval.features.shared.threads import map_apart
from pytest_browsereval.run.shards import Parts
from pytest_browsereval.run.store import COPY, check_new
from pytest_browsereval.runs.attempt import find_place
from pytest_browsereval.runs.lines import list_files, parse_line, read_raw
from pytest_browsereval.runs.run import PARTIAL

_PART_OF_RUN = re.compile(rf"(.+)/{PARTS}/(\d+-of-\d+)")


# -- what is done


def fetch(url: str, *, with_files: bool = True) -> Sequence[Path]:
    """Return the folders of the parts of a run, from the cache if they are there: what is done never changes.

    Args:
        url: of a run, or of one part of it.
        with_files: whether pictures, traces and other files of attempts are needed next to their records.

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
    url = url.rstrip("/")
    match = _PART_OF_RUN.fullmatch(url)
    parts = list_parts(Bucket.open(match[1] if match else url))
    done = [(part, part.done()) for part in parts if match is None or part.name == match[2]]
    if not done:
        raise RemoteError(f"there is no run at {url}. Give the URL of a run: FOLDER/EVAL/ID.")
    if open_ones := [part.path for part, one in done if one is None]:
        raise RemoteError(
            f"{parts[0].bucket.url}: {', '.join(open_ones)} is begun and not done, so nobody knows which try "
            "of it counts. Run `browsereval push` where it was made, or the part again."
        )
    found = [(part, one) for part, one in done if one is not None]
    if match is None:
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
            f"{part.bucket.url}: {missing} of this run is missing. Run it, or give what is there: {part.url}"
        )


def _keep(part: Part, done: Done, cache: Path, *, with_files: bool) -> Path:
    """Return a copy of a try in the cache, with all that is needed.

    One with all files and one without are two: nothing is added to a copy, which others may be reading.
    """
    url, name = part.bucket.url, part.bucket.url.rpartition("/")[2]
    name += f"-{part.name}" if part.shard.of > 1 else ""
    key = f"{url}/{part.prefix(done.token)}\0{with_files}"
    folder = cache / hashlib.sha256(key.encode()).hexdigest()[:16] / name
    # Systems remove old files from caches one by one.
    if not all((folder / path).is_file() for path in done.files if with_files or is_of_run(path)):
        shutil.rmtree(folder.parent, ignore_errors=True)
        _bring_done(part, done, folder, with_files=with_files)
    return folder


def _bring_done(part: Part, done: Done, folder: Path, *, with_files: bool = True) -> None:
    """Bring the files of a try into a folder that is there only when all of them are as they have to be."""
    files = {path: known for path, known in done.files.items() if with_files or is_of_run(path)}
    with _new_folder(folder) as begun:
        if not with_files:
            (begun / PARTIAL).write_text(part.bucket.url, encoding="utf-8")
        for path in _bring(part, done.token, files, begun):
            raise RemoteError(f"{part.bucket.url}/{part.prefix(done.token)}/{path} is missing or damaged.")


def _bring(part: Part, token: str, files: Mapping[str, str | None], folder: Path) -> list[str]:
    """Bring files of a try; return the paths of those that are missing or damaged.

    Args:
        part: of which it is.
        token: of the try.
        files: size and hash of each, by its path; None where nobody knows.
        folder: for them; a new one.
    """
    (folder / "tasks").mkdir()

    def bring(path: str) -> str:
        content = part.bucket.get(f"{part.prefix(token)}/{path}")
        if content is None or files[path] not in (None, describe_content(content)):
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


def bring_interrupted(part: Part, folder: Path) -> bool:
    """Bring what there is of a part that is not done into a new folder; return whether there is an attempt.

    Of several tries the one that has most is brought: the last one may have ended before it had sent on what
    the one before it had.

    Raises:
        RemoteError: the store cannot be used, the run's manifest is missing, or the folder is not new.
    """
    tries = {token: part.bucket.list_all(part.prefix(token)) for token in part.list_tries()}
    token, paths = max(tries.items(), key=lambda one: _count_finished(one[1]), default=("", []))
    if not _count_finished(paths):
        return False
    with _new_folder(folder) as begun:
        missing = _bring(part, token, {check_path(path, part.url): None for path in paths}, begun)
        if missing or "manifest.json" not in paths:
            raise RemoteError(f"{part.url}: {(*missing, 'manifest.json')[0]} is missing.")
        # Lines are sent after the evidence of their attempts: what has none is made again.
        lines = [line for name in list_files(begun) for _, line in read_raw(begun, name)]
        places = set(map(_find_place, lines))
        for attempt in begun.glob("tasks/*/*/*/*"):
            if attempt.relative_to(begun).as_posix() not in places:
                shutil.rmtree(attempt)
    return True


def _count_finished(paths: Sequence[str]) -> int:
    return sum(path.endswith(f"/{COPY}") for path in paths)


def _find_place(line: bytes) -> str:
    with suppress(ValueError):
        if (data := parse_line(line)) is not None:
            return find_place(data)
    return ""
