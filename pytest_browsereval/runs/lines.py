"""``attempts/*.jsonl``: the record of a run, a line for each finished attempt.

A line is the whole record of an attempt. Each process of a run appends to a file of its own; an attempt that
is graded again, or whose cost is known better, gets a further line with a higher revision, which counts.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import random
import stat
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from pytest_browsereval.config_text import format_path
from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run_files import open_written, parse_written
from pytest_browsereval.runs.attempt import Line, StoredAttempt, find_place, find_trial, make_attempt
from pytest_browsereval.runs.rewritten import Lost, attempt_number
from pytest_browsereval.runs.texts import START, put_back

if TYPE_CHECKING:
    from pytest_browsereval.runs.run import StoredRun

ATTEMPTS = "attempts"
"""The folder of the lines, in that of the run."""

MOST_ATTEMPTS = 99_999_999
"""Of a trial; a line that says more is not by a run, and no later attempt would have a number."""

_SAFELY = ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")
_APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | sum(getattr(os, name, 0) for name in _SAFELY)


class Noted(NamedTuple):
    """What is known of a line apart from its content."""

    place: str
    """The folder of its attempt, below the run's."""
    revision: int
    changed: str = ""
    """The name of a file with a long text of it that something has changed or removed."""


def hash_line(line: bytes) -> str:
    """Return what tells a line from any other one."""
    return hashlib.blake2b(line, digest_size=16).hexdigest()


# -- writing


class LineWriter:
    """The file that one process appends to.

    Args:
        root: the run's folder.
        worker: names the process among those of the run.
    """

    def __init__(self, root: Path, worker: str) -> None:
        self._folder = root / ATTEMPTS
        # Sessions that write one after another, or shards at once, have workers of the same name.
        letters = "".join(random.SystemRandom().choices(ascii_lowercase, k=10))
        self._name = f"{worker}-{letters}.jsonl"
        self._lock = threading.Lock()
        self._hashes: set[str] = set()
        self._fresh: dict[str, Noted] = {}
        self._is_closed = False
        self.report: Callable[[], None] = lambda: None
        """Called after each line: in a worker it tells the controller, before a further attempt begins."""

    def append(self, noted: Noted, content: Mapping[str, Any]) -> bool:
        """Add a line; return False where the writer is closed.

        Raises:
            OSError: it cannot be written.
        """
        line = json.dumps(content, ensure_ascii=False).encode()
        with self._lock:
            if self._is_closed:
                return False
            # Before the line is there: the one who finds it has to know whose it is.
            self._hashes.add(hash_line(line))
            self._append(line)
            self._fresh[hash_line(line)] = noted
        self.report()
        return True

    def _append(self, line: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._folder.is_symlink():
            raise NotADirectoryError(f"{self._folder} is a link")
        path = self._folder / self._name
        file = os.open(path, _APPEND, 0o666)
        try:
            if size := os.fstat(file).st_size:
                os.lseek(file, size - 1, os.SEEK_SET)
                line = line if os.read(file, 1) == b"\n" else b"\n" + line  # a write that was cut stays alone
            line += b"\n"
            if os.write(file, line) < len(line):  # one call: a kill leaves no line that others continue
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        finally:
            os.close(file)

    def believe(self, hashes: Set[str]) -> None:
        """Take lines of others for lines of this process."""
        self._hashes |= hashes

    def has_written(self, line: Line | None) -> bool:
        """Whether a line is by this process, or as good."""
        return line is not None and line.hash in self._hashes

    def take_fresh(self) -> dict[str, Noted]:
        """Return what was written since the last time, by the hashes of the lines."""
        with self._lock:
            fresh, self._fresh = self._fresh, {}
        return fresh

    def close(self) -> None:
        """Write nothing any more: the run is about to be summed up."""
        with self._lock:
            self._is_closed = True


# -- reading


def list_files(root: Path) -> list[str]:
    """Return the names of the files with lines, in their order.

    Raises:
        UsageError: the folder cannot be read.
    """
    folder = root / ATTEMPTS
    if folder.is_symlink():
        raise UsageError(f"{format_path(folder)} is a link. Put the folder itself there.")
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".jsonl"))  # noqa: PTH208 names alone
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UsageError(f"{format_path(folder)} cannot be read: {error.strerror}.") from None


def read_raw(root: Path, name: str, begin: int = 0) -> Iterator[tuple[int, bytes]]:
    """Yield the whole lines of a file, without their ends, and where each begins.

    What follows the last end of a line is not one: its writer was cut off, or is at it.

    Args:
        root: the run's folder.
        name: of the file.
        begin: where to begin.

    Raises:
        UsageError: it cannot be read.
    """
    path = root / ATTEMPTS / name
    try:
        with open_written(str(path)) as file:
            file.seek(begin)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                yield begin, line[:-1]
                begin += len(line)
    except OSError as error:
        raise UsageError(f"{format_path(path)} cannot be read: {error.strerror}.") from None


def parse_line(line: bytes) -> TaskMetadata | None:
    """Return the record in a line; None of a line that was cut, which counts for nothing.

    Raises:
        ValueError: it is something else.
    """
    try:
        return TaskMetadata.model_validate_json(line)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] == "json_invalid" and ("EOF while parsing" in first["msg"] or not line):
            return None
        place = ".".join(map(str, first["loc"]))
        raise ValueError(f"{place}: {first['msg']}" if place else first["msg"]) from None


def read_bytes(root: Path, line: Line) -> bytes:
    """Return a line that is known, as it was written.

    Raises:
        UsageError: the file was changed since.
    """
    path = root / ATTEMPTS / line.file
    with contextlib.suppress(OSError), open_written(str(path)) as file:
        file.seek(line.offset)
        content = file.read(line.size)
        if hash_line(content) == line.hash:
            return content
    raise UsageError(f"{format_path(path)} was changed while it was read. Run the command again.")


def read_content(root: Path, line: Line) -> bytes:
    """Return a line that is known, with its long texts.

    Raises:
        UsageError: the file or a text was changed since.
    """
    content = read_bytes(root, line)
    if not content.startswith(START):
        return content
    return put_back(content, root / find_place(TaskMetadata.model_validate_json(content)))


def _guess_place(line: bytes) -> str:
    with contextlib.suppress(ValueError, TypeError, KeyError):
        found = parse_written(line)
        row, variant = safe_folder(found["query_id"]), safe_folder(found["variant"])
        return f"tasks/{row}/{variant}/{found['trial']}/attempt-{found['attempt']}"
    return ""


def _measure(path: Path) -> int:
    found = os.stat(path, follow_symlinks=False)  # noqa: PTH116 asked for each item
    if not stat.S_ISREG(found.st_mode):
        raise UsageError(f"{format_path(path)} cannot be read: it is not a plain file.")
    return found.st_size


class Lines:
    """The lines of a run as far as they were read; ``update`` reads what was appended since.

    Args:
        root: the run's folder.
        run: whose attempts they are.
    """

    def __init__(self, root: Path, run: StoredRun) -> None:
        self._root = root
        self._run = run
        self.lost = Lost(root)
        self._forget()

    def _forget(self) -> None:
        self._ends: dict[str, int] = {}
        self._trials: dict[str, dict[int, Sequence[StoredAttempt]]] = {}
        """The lines of each attempt, by the folders of the trials and the numbers of attempts."""
        self._rows: dict[str, list[str]] = {}
        """The trials of each row, by its id."""
        self._wrong: dict[str, str] = {}
        """What is wrong with lines that cannot be read, by their hashes, or with a file."""
        self._places: dict[str, str] = {}
        """The folders of the attempts that such lines seem to be of, by their hashes."""

    def update(self) -> None:
        """Read what was appended; what is wrong with it is raised by ``list_all``."""
        self.lost = self.lost.refresh()
        self._wrong.pop("", None)
        try:
            for name in list_files(self._root):
                end = self._ends.get(name, 0)
                size = _measure(self._root / ATTEMPTS / name)
                if size < end:  # something has cut it: what was read is not what there is
                    self._forget()
                    self.update()
                    return
                if size > end:
                    self._read(name, end)
        except (UsageError, OSError) as error:
            self._wrong[""] = str(error)

    def _read(self, name: str, begin: int) -> None:
        for offset, content in read_raw(self._root, name, begin):
            line = Line(name, offset, len(content), hash_line(content))
            self._ends[name] = offset + len(content) + 1
            try:
                if (metadata := parse_line(content)) is not None:
                    self._take(make_attempt(metadata, self._run, line))
            except ValueError as error:
                self._places[line.hash] = _guess_place(content)
                self._wrong[line.hash] = (
                    f"{format_path(self._root / ATTEMPTS / name)}, at byte {offset}, is damaged: {error}. "
                    "Restore the line, or remove it to have the attempt count as never made."
                )

    def _take(self, data: StoredAttempt) -> None:
        if data.attempt > MOST_ATTEMPTS:
            raise ValueError(f"attempt: {data.attempt} is more than {MOST_ATTEMPTS}")
        if (trial := find_trial(data)) not in self._trials:
            self._rows.setdefault(data.query_id, []).append(trial)
        tries = self._trials.setdefault(trial, {})
        tries[data.attempt] = sorted((*tries.get(data.attempt, ()), data), key=lambda one: one.revision)

    # -- what they say

    def _choose(self, trial: str, lines: Sequence[StoredAttempt]) -> StoredAttempt | None:
        """Return the line of an attempt that counts; None if it has no result."""
        for data in reversed(lines):
            if data.line.hash not in self.lost.dropped:
                return None if self.lost.covers(trial, data) else data
        return None

    @property
    def trials(self) -> Sequence[str]:
        """The folders of all trials below the run's."""
        return tuple(self._trials)

    def describe_damage(self, place: str | None = None) -> str:
        """Return what is wrong with the first line that cannot be read, or with a file; "" if all is well.

        Args:
            place: look for lines that seem to be of this attempt only; None for all.
        """
        wrong = ((key, why) for key, why in self._wrong.items() if key not in self.lost.dropped)
        return next((why for key, why in wrong if place in (None, self._places.get(key, place))), "")

    def list_all(self) -> list[StoredAttempt]:
        """Return each attempt that counts, in the order of the folders.

        Raises:
            UsageError: a line is damaged, two different lines of one attempt have one revision, or a file
                cannot be read.
        """
        if why := self.describe_damage():
            raise UsageError(why)
        found = list[tuple[str, StoredAttempt]]()
        for trial, tries in self._trials.items():
            for lines in tries.values():
                if (data := self._choose(trial, lines)) is not None:
                    self._check_one(lines, data)
                    found.append((trial, data))
        found.sort(key=lambda one: (one[0].rsplit("/", 1)[0].split("/"), one[1].trial, one[1].attempt))
        return [data for _, data in found]

    def _check_one(self, lines: Sequence[StoredAttempt], data: StoredAttempt) -> None:
        if len(lines) == 1:
            return
        known = (one.line for one in lines if one.revision == data.revision)
        same = {one for one in known if one.hash not in self.lost.dropped}
        if len({one.hash for one in same}) > 1:
            where = " and ".join(f"{ATTEMPTS}/{one.file} (at byte {one.offset})" for one in sorted(same))
            raise UsageError(
                f"{format_path(self._root)}: {where} are different lines of {find_place(data)} with revision "
                f"{data.revision}. Remove those that the run has not written."
            )

    def list_row(self, query_id: str) -> list[StoredAttempt]:
        """Return the attempts of a row that count, in the order of their folders."""
        found = (data for trial in self._rows.get(query_id, ()) for data in self.list_tries(trial))
        return sorted(found, key=find_place)

    def list_tries(self, trial: str) -> list[StoredAttempt]:
        """Return the attempts of a trial that count, in their order.

        Args:
            trial: its folder below the run's.
        """
        tries = sorted(self._trials.get(trial, {}).items())
        return [data for _, lines in tries if (data := self._choose(trial, lines)) is not None]

    def list_history(self, trial: str) -> list[Line]:
        """Return all lines of the attempts of a trial that count, the earlier revisions of each too."""
        tries = sorted(self._trials.get(trial, {}).items())
        known = [one.line for _, lines in tries if self._choose(trial, lines) for one in lines]
        return [line for line in known if line.hash not in self.lost.dropped]

    def find(self, place: str) -> StoredAttempt | None:
        """Return an attempt that counts by its folder below the run's; None if there is none."""
        trial, _, name = place.rpartition("/")
        return self._choose(trial, self._trials.get(trial, {}).get(attempt_number(name) or 0, ()))

    def find_revision(self, data: TaskMetadata) -> int:
        """Return the highest revision of an attempt, written by anyone; 0 before there is a line."""
        lines = self._trials.get(find_trial(data), {}).get(data.attempt)
        return lines[-1].revision if lines else 0

    def find_number(self, trial: str) -> int:
        """Return the highest number of an attempt of a trial by a line that is not dropped; 0 without any.

        Args:
            trial: its folder below the run's.
        """
        own = (
            number
            for number, lines in self._trials.get(trial, {}).items()
            if any(one.line.hash not in self.lost.dropped for one in lines)
        )
        return max(self.lost.last_of(trial), *own, 0)


def list_kept(root: Path, later: Collection[str]) -> list[str]:
    """Return the folders of attempts of which lines are there that something else than the run has written.

    Args:
        root: the run's folder.
        later: the folders of trials that have a later result.
    """
    lost = Lost(root)
    due = {key: place for key, place in lost.foreign.items() if place.rpartition("/")[0] not in later}
    if not due:
        return []
    raw = (content for name in list_files(root) for _, content in read_raw(root, name))
    return list(dict.fromkeys(due[key] for key in map(hash_line, raw) if key in due))
