"""Reads the records of a run, with its index where that is right.

Of a disk whose content is not in memory, most of the time goes to finding four folders and a file for each
attempt: several threads wait for it at once. An attempt that the index knows is not looked for: its record is
asked for its stamp, and the folders above it for the number of folders in them.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import time
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from pytest_browsereval.capture.trajectory import GRADES_FILE
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.digest import AttemptDigest, digest
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.index import IndexFile, Known, NewIndex, list_known, read_copied, read_index
from pytest_browsereval.run.prefetch import prefetch_attempts
from pytest_browsereval.run.records import RECORD, Lost, Stamp, attempt_number, make_stamp, read_record
from pytest_browsereval.run_files import open_written

Given = TypeVar("Given")
Found = TypeVar("Found")

THREADS = 16
"""Disks answer many requests at once; Python's lock is free while they do."""

BATCH = 32
"""Tasks that a thread looks at, or records that it reads, before it hands them over."""

WORTH_THREADS = BATCH // 4
"""Waits of a batch from which on threads do the rest: a cold disk has one and more for each record."""

WORTH_INDEXING = 100
"""Records that the index lacks, from which on a reader makes it again: that takes 10 ms and more."""

_DEPTH = 4
"""Folders from ``tasks`` down to an attempt: task, variant, trial, attempt."""


# -- where attempts are

_PLACE = re.compile(r"(tasks/(?!\.\.?/)[^/]+)(?:/(?!\.\.?/)[^/]+){2}/attempt-[0-9]{1,9}")
"""The folder of an attempt below the run's, and that of its task: lines of an index may name others."""

_LINKS = 2
"""Of an empty folder: its name, and "." in it. A folder in it has one more, "..", where these are counted."""


def list_folders(root: Path) -> Iterator[Path]:
    """Yield the folder of every attempt of a run, finished or not, in the order of their names.

    Raises:
        UsageError: a folder cannot be read.
    """
    return (root / folder for folder in _find_all(root))


def count_rows(root: Path) -> int:
    """Return of how many rows a run has attempts.

    Raises:
        UsageError: a folder cannot be read.
    """
    tasks = f"{root}/tasks"
    names = _list_names(tasks) if os.path.isdir(tasks) else []  # noqa: PTH112 as all paths here
    return len(names) or len({folder.split("/")[1] for folder, _ in read_copied(root)})


def _list_tasks(root: Path) -> list[str]:
    return [f"tasks/{name}" for name in _list_names(f"{root}/tasks")] if (root / "tasks").is_dir() else []


def _find_all(root: Path) -> Iterator[str]:
    """Yield the folder of every attempt below the run's, with slashes."""
    return work_ahead(lambda task: _find_below(str(root), task, _DEPTH - 1), _list_tasks(root))


def _find_below(root: str, folder: str, depth: int) -> Iterator[str]:
    """Yield the attempts that are so deep below a folder, by name."""
    for name in _list_names(f"{root}/{folder}"):
        path = f"{folder}/{name}"
        if depth > 1:
            yield from _find_below(root, path, depth - 1)
        elif attempt_number(name) is not None:
            yield path


def _list_names(folder: str) -> list[str]:
    """Return the folders in a folder; a link to one is none of the run's."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError as error:
        raise UsageError(f"{Path(folder)} cannot be read: {error.strerror}.") from None


def work_ahead(
    work: Callable[[Given], Iterable[Found]], given: Iterable[Given], size: int = BATCH
) -> Generator[Found, None, None]:
    """Yield what the work finds, in the order of what is given.

    As soon as a batch waits for the disk, threads are a few batches ahead. In memory they would wait for
    Python's lock instead: on two idle cores that takes four times as long.

    Args:
        work: waits for the disk most of its time.
        given: what it is done for.
        size: of a batch.
    """

    def work_all(batch: list[Given]) -> list[Found]:
        return [found for one in batch for found in work(one)]

    todo, waiting = iter(given), deque[Future[list[Found]]]()
    for batch in iter(lambda: list(itertools.islice(todo, BATCH)), []):
        before = _count_waits()
        found = work_all(batch)
        waits = _count_waits() - before
        if waits > WORTH_THREADS:
            waiting.append(Future())
            waiting[0].set_result(found)
            break
        yield from found
    pool = ThreadPoolExecutor(THREADS)
    try:
        while (batch := list(itertools.islice(todo, size))) or waiting:
            if batch:
                waiting.append(pool.submit(work_all, batch))
            if not batch or len(waiting) > 2 * THREADS:
                yield from waiting.popleft().result()
        pool.shutdown()
    finally:
        # Nobody wants the rest, and nothing is waited for: the garbage collector may close this generator
        # in any thread, one that starts for example and holds a lock that the end of another one needs.
        pool.shutdown(wait=False, cancel_futures=True)


def _count_waits() -> int:
    """Return how often this thread has waited; for how many milliseconds, where the system does not count."""
    try:
        from resource import RUSAGE_THREAD, getrusage
    except ImportError:
        return int(1000 * (time.perf_counter() - time.thread_time()))
    return getrusage(RUSAGE_THREAD).ru_nvcsw


# -- what is in them


class _Unfinished(Exception):
    """An attempt has no metadata."""


_Read = tuple[bytes, Stamp] | OSError
"""A record with its stamp, or why it cannot be read."""

Stored = tuple[str, TaskMetadata, Stamp]
"""An attempt that was read: its folder below the run's, its record and the stamp of that."""


def read_metadata(folder: Path) -> TaskMetadata:
    """Return what an attempt has come to.

    Raises:
        UsageError: the file is damaged: it is written whole, so something else has changed it.
    """
    try:
        return _check(folder, _try_reading(str(folder)))[0]
    except _Unfinished as error:
        raise _damage_error(folder, str(error)) from None


def note_record(index: IndexFile, folder: Path) -> None:
    """Add an attempt's record to the index; one that is not there, or cannot be written, is left out."""
    with contextlib.suppress(OSError, UsageError, _Unfinished):
        metadata, stamp = _check(folder, _try_reading(str(folder)))
        index.append(folder, stamp, digest(metadata, find_agreeing(folder, metadata)))


def find_agreeing(folder: Path, metadata: TaskMetadata) -> int | None:
    """Return a hash over the stamp of an attempt's ``grades.json``; None if it contradicts the record."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        with open_written(f"{folder}{os.sep}{GRADES_FILE}") as file:
            stamp = hash(make_stamp(os.fstat(file.fileno())))  # of numbers alone: the same in each process
            verdicts = {name: grade["verdict"] for name, grade in json.load(file).items()}
        if verdicts == {name: str(grade.verdict) for name, grade in metadata.grader_results.items()}:
            return stamp
    return None


def read_attempts(root: Path) -> Iterator[tuple[Path, TaskMetadata]]:
    """Yield every finished attempt of a run with its folder, in the order of the folders' names.

    Raises:
        UsageError: a folder cannot be read, or a record is damaged.
    """
    for folder, metadata, _ in _read_all(root):
        yield root / folder, metadata


def read_digests(root: Path, is_idle: Callable[[], bool]) -> Iterator[tuple[str, AttemptDigest]]:
    """Yield the digests of the same, from the index where the record is as it was then.

    Their folders are below the run's, with slashes.

    Of a digest that tells a stamp of ``grades.json`` that file, too, is as it was when both agreed.

    Args:
        root: the run's folder.
        is_idle: whether no process writes the run, so that an index that lacks much can be made again.

    Raises:
        UsageError: a folder cannot be read, or a record is damaged.
    """
    with prefetch_attempts(str(root)) as is_ahead:
        found = list(_compare(root, read_index(root), is_ahead=is_ahead))
    if not found:
        yield from read_copied(root)
        return
    lacking = [folder for folder, data in found if data is None]
    if len(lacking) > max(WORTH_INDEXING, len(found) // 2) and is_idle():
        yield from index_digests(root)
        return

    read = work_ahead(lambda folder: [_try_reading(f"{root}/{folder}")], lacking)
    for folder, data in found:
        if data is not None:
            yield folder, data
        else:
            with contextlib.suppress(_Unfinished):
                yield folder, digest(_check(root / folder, next(read))[0])
    next(read, None)  # to its end


Compared = tuple[str, AttemptDigest | None]
"""The folder of an attempt, and its digest by the index if its record is as it was then."""


def _compare(root: Path, known: Known, *, is_ahead: bool = False) -> Iterator[Compared]:
    """Yield the attempts that count, each with what the index rightly says of it.

    Args:
        root: the run's folder.
        known: its index.
        is_ahead: other processes prefetch the attempts, so that one thread is enough on a cold disk too.
    """
    names = sorted(known)

    def compare(task: str) -> Iterable[Compared]:
        # "0" is the sign after "/".
        folders = names[bisect_left(names, f"{task}/") : bisect_left(names, f"{task}0")]
        same = [(folder, _find_same(top, folder, list_known(known, folder))) for folder in folders]
        if same and all(data for _, data in same) and _has_no_others(top, task, folders):
            return sorted(same, key=lambda one: one[0].split("/")) if len(same) > 1 else same
        stamps = dict(same)
        return [(folder, stamps.get(folder)) for folder in _find_below(top, task, _DEPTH - 1)]

    lost, top = Lost(root), str(root)
    tasks = _list_tasks(root)
    compared = (one for task in tasks for one in compare(task)) if is_ahead else work_ahead(compare, tasks)
    return (one for one in compared if not lost or root / one[0] not in lost)


def _find_same(root: str, folder: str, digests: Iterable[AttemptDigest]) -> AttemptDigest | None:
    """Return the digest of the record as it is; None if the index has none."""
    path = f"{root}/{folder}/"
    stamp = _hash_stamp(path + RECORD) if _PLACE.fullmatch(folder) else None
    same = [data for data in digests if data.record_stamp == stamp is not None]
    if not same:
        return None
    data = same[-1]
    if data.grades_stamp is not None and data.grades_stamp != _hash_stamp(path + GRADES_FILE):
        return replace(data, grades_stamp=None)
    return data


def _hash_stamp(path: str) -> int | None:
    try:  # a hash of numbers alone is the same in each process
        return hash(make_stamp(os.stat(path, follow_symlinks=False)))  # noqa: PTH116 as all paths here
    except OSError:
        return None


def _has_no_others(root: str, task: str, folders: Iterable[str]) -> bool:
    """Whether a task has no more attempts than those that are known to be there, by the number of links.

    Not every file system counts a folder in the links of that above it; then this is False.
    """
    inner: dict[str, set[str]] = {}
    for folder in folders:
        while folder != task:
            above = folder.rpartition("/")[0]
            inner.setdefault(above, set()).add(folder)
            folder = above  # noqa: PLW2901
    try:
        return all(
            os.stat(f"{root}/{above}", follow_symlinks=False).st_nlink == _LINKS + len(own)  # noqa: PTH116
            for above, own in inner.items()
        )
    except OSError:
        return False


def index_digests(root: Path, *, is_needed: bool = False) -> Iterator[tuple[str, AttemptDigest]]:
    """Yield the same from the records alone, and index them.

    Args:
        root: the run's folder.
        is_needed: whether an index that cannot be written is an error, once all were read.

    Raises:
        UsageError: a folder cannot be read, or a record is damaged.
        OSError: the index is needed and cannot be written.
    """
    with NewIndex(root) as index:
        for folder, metadata, stamp in _read_all(root):
            data = digest(metadata, find_agreeing(root / folder, metadata))
            index.add(folder, stamp, data)
            yield folder, data
        with contextlib.suppress(*(() if is_needed else (OSError,))):
            index.finish()


def _read_all(root: Path) -> Iterator[Stored]:
    """Yield the attempts that are finished."""
    lost = Lost(root)  # something else than the run has changed these
    counting = (folder for folder in _find_all(root) if not lost or root / folder not in lost)
    tried = work_ahead(lambda folder: [(folder, _try_reading(f"{root}/{folder}"))], counting)
    for folder, found in tried:
        with contextlib.suppress(_Unfinished):
            yield folder, *_check(root / folder, found)


def _try_reading(folder: str) -> _Read:
    try:
        return read_record(folder)
    except OSError as error:
        return error


def _check(folder: Path, found: _Read) -> tuple[TaskMetadata, Stamp]:
    if isinstance(found, FileNotFoundError):
        raise _Unfinished(str(found)) from None
    if isinstance(found, OSError):
        raise _damage_error(folder, str(found)) from None
    try:
        return TaskMetadata.model_validate_json(found[0]), found[1]
    except ValidationError as error:
        raise _damage_error(folder, _describe_first(error)) from None


def _damage_error(folder: Path, why: str) -> UsageError:
    return UsageError(
        f"{folder / RECORD} is damaged: {why}. Restore it, or remove the folder {folder.name} to "
        "have the attempt count as never made."
    )


def _describe_first(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else first["msg"]
