"""The run folder: where everything is, written by many processes and read by anyone.

``results/<name>/<UTC time>-<6 random letters>/`` holds ``manifest.json``, ``attempts/*.jsonl`` with a line
for each finished attempt, a folder for the evidence of each and, derived, ``summary.json``. An attempt's
folder is written by one process only. The file
``in-flight/<worker>-<n>.json`` stands for an attempt that has begun and is not finished.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.display import list_json_parts
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.messages import now, write_time
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.model.trials import TrialKey
from pytest_browsereval.redaction.text import redact_json
from pytest_browsereval.run.locks import RunLocks
from pytest_browsereval.run_files import parse_lines, read_written, write_json, write_whole
from pytest_browsereval.runs.attempt import StoredAttempt, find_place
from pytest_browsereval.runs.lines import ATTEMPTS, LineWriter, Noted
from pytest_browsereval.runs.rewritten import attempt_number
from pytest_browsereval.runs.run import StoredRun
from pytest_browsereval.runs.summary_file import SUMMARY
from pytest_browsereval.runs.texts import LONGEST, take_out

COPY = "metadata.json"
"""In the folder of an attempt: a copy of its line, for people."""

_NAMES = ("query_id", "variant", "node_id", "termination_reason", "verdict", "error_source")
"""Fields that others are found by: a secret such as ``default`` must not spoil them."""

IN_FLIGHT = "in-flight"
"""The folder of what stands for attempts that have begun."""


def new_run_id() -> str:
    """Return ``<UTC time>-<6 letters>``: ids sort by time, and two runs never share one.

    The first three letters are the time within the second, so that the latest of several runs within a
    second can be told by name on any machine; the others are random.
    """
    now = datetime.now(UTC)
    parts = len(ascii_lowercase) ** 3
    part = now.microsecond * parts // 1_000_000
    letters = [ascii_lowercase[part // 26**place % 26] for place in (2, 1, 0)]
    letters += random.SystemRandom().choices(ascii_lowercase, k=3)
    return f"{now:%Y%m%dT%H%M%SZ}-{''.join(letters)}"


def home_of(output_dir: Path, name: str) -> Path:
    """Return the folder that the runs of an eval are in.

    Args:
        output_dir: its results folder.
        name: of the eval.
    """
    return output_dir / safe_folder(name)


def check_new(folder: Path) -> None:
    """Check that a run's folder can be made, or is there and empty.

    Raises:
        UsageError: it cannot.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{format_path(folder)} already exists and is not a folder. Name another one.")
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{format_path(folder)} already exists and has files in it. Name a new folder.")
    nearest = next(one for one in folder.absolute().parents if one.exists())
    if not nearest.is_dir():
        raise UsageError(f"{format_path(folder)}: {format_path(nearest)} is not a folder. Name another one.")


@dataclass(frozen=True)
class AttemptRecord:
    """What is on disk of a finished attempt."""

    metadata: TaskMetadata
    folder: Path


@dataclass(frozen=True, slots=True)
class Flight:
    """An attempt that has begun and is not finished."""

    node_id: str
    folder: Path

    is_recorded: bool
    """Whether it has come to its end, or is graded again."""
    began: float = 0.0
    """In seconds since 1970."""


@dataclass(frozen=True)
class AttemptFolder:
    """One try at a trial, begun in this process."""

    path: Path
    number: int
    marker: Path
    """The file that stands for it while it is in flight."""
    started_at: str = field(default_factory=now)
    clock: float = field(default_factory=time.perf_counter)
    """When it began, by ``time.perf_counter``."""

    def finish(self) -> None:
        """Take it out of flight; call it after its record was written."""
        self.marker.unlink(missing_ok=True)


class RunStore:
    """A run's folder.

    Args:
        root: the folder; made when the first file is written.
        worker: names the writing process among those of the run.
    """

    def __init__(self, root: Path, *, worker: str = "main") -> None:
        self.root = root
        self.worker = worker
        self._numbers = itertools.count(1)
        self.writer = LineWriter(root, worker)
        self.run = StoredRun(root)
        """The same, to read it."""
        self.locks = RunLocks(root, worker)
        """Who writes it."""
        self.lost: dict[str, Flight] = {}
        """By their items, what was in flight on the loop, or in the process, that was lost last."""
        self._lost_markers: set[Path] = set()

    @cached_property
    def real_root(self) -> Path:
        """The folder without links; its name is the id of the run."""
        return self.root.resolve()

    @classmethod
    def locate(cls, output_dir: Path, name: str, run_id: str, *, worker: str = "main") -> RunStore:
        """Return the store of a run; every process of the run gets the same folder."""
        return cls(home_of(output_dir, name) / run_id, worker=worker)

    # -- the run

    def write_manifest(self, manifest: dict[str, Any]) -> None:
        """Write ``manifest.json`` unless a process of the same run has written it already."""
        (self.root / "tasks").mkdir(parents=True, exist_ok=True)  # also where no attempt begins: it is a run
        target = self.root / "manifest.json"
        if not target.exists():
            write_json(target, manifest)

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write ``summary.json``."""
        write_whole(self.root / SUMMARY, list_json_parts(summary))

    def drop_summary(self) -> None:
        """Remove ``summary.json``: further attempts are about to be made, which it does not contain."""
        (self.root / SUMMARY).unlink(missing_ok=True)

    def append(self, name: str, record: dict[str, Any]) -> None:
        """Add a line to a file of the run, which other processes may add to as well.

        Raises:
            OSError: it cannot be written.
        """
        line = json.dumps(record, ensure_ascii=False).encode() + b"\n"
        with (self.root / name).open("ab+", buffering=0) as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                line = line if file.read(1) == b"\n" else b"\n" + line  # a write that was cut stays alone
            file.write(line)  # in one piece: other processes write too

    # -- attempts

    def trial_folder(self, key: TrialKey) -> Path:
        """Return where a trial's attempts are."""
        return self.root / self._place(key)

    @staticmethod
    def _place(key: TrialKey) -> str:
        return f"tasks/{safe_folder(key.query_id)}/{safe_folder(key.variant)}/{key.trial}"

    def list_tries(self, key: TrialKey) -> list[StoredAttempt]:
        """Return the finished attempts of a trial that count, in their order."""
        return self.run.update_lines().list_tries(self._place(key))

    def verdict(self, key: TrialKey) -> Verdict | None:
        """Return what a trial has come to so far, by its last finished attempt; None before there is one."""
        tries = self.list_tries(key)
        return tries[-1].verdict if tries else None

    def last_result(self, key: TrialKey) -> AttemptRecord | None:
        """Return the last finished attempt of a trial; None before there is one."""
        if not (tries := self.list_tries(key)):
            return None
        return AttemptRecord(tries[-1].metadata, self.trial_folder(key) / f"attempt-{tries[-1].attempt}")

    def save_record(self, metadata: TaskMetadata, redact: Callable[[str], str] = str) -> TaskMetadata:
        """Write the record of an attempt and return it without secrets, for all that is shown of it.

        Call it last: an attempt is finished if and only if its line is there. A copy of the line is
        ``metadata.json`` in the attempt's folder, where long texts have files of their own.

        Args:
            metadata: the record.
            redact: replaces secrets in a text before it is written.

        Raises:
            OSError: it cannot be written.
        """
        revision = 1 + self.run.update_lines().find_revision(metadata)
        plain = metadata.model_copy(update={"revision": revision}).model_dump(mode="json")
        safe = {**redact_json(plain, redact), **{name: plain[name] for name in _NAMES}}
        place = find_place(metadata)
        copy, line = self.root / place / COPY, safe
        write_json(copy, safe)
        if copy.stat().st_size > LONGEST:
            line, texts = take_out(safe)
            for name, text in texts.items():
                write_whole(copy.with_name(name), text)
        if not self.writer.append(Noted(place, revision), line):
            copy.unlink(missing_ok=True)
        return TaskMetadata.model_validate(safe)

    def begin_attempt(self, key: TrialKey, node_id: str) -> AttemptFolder:
        """Make the folder of a new attempt: a higher number than any line has, and than there are folders.

        (The name of a folder says nothing: a program of an attempt may have made it.)

        Raises:
            OSError: it cannot be made.
        """
        trial = self.trial_folder(key)
        self._check_no_link(trial)
        trial.mkdir(parents=True, exist_ok=True)
        folders = sum(attempt_number(path.name) is not None for path in trial.glob("attempt-*"))
        number = 1 + max(folders, self.run.update_lines().find_number(self._place(key)))
        while True:
            with contextlib.suppress(FileExistsError):
                (path := trial / f"attempt-{number}").mkdir()
                break
            number += 1
        return self.reopen(path, number, node_id)

    def reopen_lost(self, key: TrialKey, node_id: str) -> AttemptFolder:
        """Reopen the attempt that has lost its loop or its process; begin a new one if there is none.

        Raises:
            OSError: it cannot be made.
        """
        found = self.lost.pop(node_id, None)
        path = self.trial_folder(key) if found is None else found.folder
        number = attempt_number(path.name) if path.parent == self.trial_folder(key) else None
        if found is None or number is None or path.is_symlink() or not path.is_dir():
            return self.begin_attempt(key, node_id)
        clock = time.perf_counter() - max(0.0, time.time() - found.began)
        return replace(self.reopen(path, number, node_id), started_at=write_time(found.began), clock=clock)

    def is_lost(self, attempt: AttemptFolder) -> bool:
        """Whether the loop of an attempt was lost: its record is there, and its code writes no other one."""
        return attempt.marker in self._lost_markers

    def _check_no_link(self, folder: Path) -> None:
        """Refuse a folder that an agent's program has made a link to somewhere else, or one above it.

        Raises:
            OSError: it is one.
        """
        if os.path.realpath(folder) != str(self.real_root / folder.relative_to(self.root)):
            raise OSError(errno.ELOOP, "a folder of the run has become a link to somewhere else", str(folder))

    def reopen(self, path: Path, number: int, node_id: str) -> AttemptFolder:
        """Open an attempt: a new one, or one that is graded again.

        Args:
            path: its folder, which exists.
            number: which attempt of its trial it is.
            node_id: its item.

        Raises:
            OSError: the run folder cannot be written.
        """
        self._check_no_link(path)
        marker = self.root / IN_FLIGHT / f"{self.worker}-{next(self._numbers)}.json"
        marker.parent.mkdir(exist_ok=True)
        relative = path.relative_to(self.root).as_posix()
        marker.write_text(json.dumps({"node_id": node_id, "pid": os.getpid(), "folder": relative}))
        return AttemptFolder(path, number, marker)

    def in_flight(self, worker: str = "*") -> list[Flight]:
        """Return the attempts that have begun and are not finished, of one worker or all."""
        lines, found = self.run.update_lines(), list[Flight]()

        def take(record: Any) -> Flight:
            place = str(record["folder"])
            return Flight(str(record["node_id"]), self.root / place, lines.find(place) is not None)

        for path in sorted((self.root / IN_FLIGHT).glob(f"{worker}-*.json")):
            with contextlib.suppress(OSError):
                began = path.stat().st_mtime
                found.extend(replace(one, began=began) for one in parse_lines(read_written(path), take))
        return found

    def take_flight(self, worker: str | None = None) -> list[Flight]:
        """Return those of a worker that has died, and forget that they were in flight.

        Args:
            worker: which one; None is this one, whose event loop was lost, and "*" is all of them.
        """
        worker = worker or self.worker
        found = self.in_flight(worker)
        markers = set((self.root / IN_FLIGHT).glob(f"{worker}-*.json"))
        if worker != "*":  # of an earlier session, nobody knows when it ended
            self.lost = {one.node_id: one for one in found if not one.is_recorded}
            self._lost_markers |= markers
        for path in markers:
            path.unlink(missing_ok=True)
        return found

    def read_record(self, folder: Path) -> TaskMetadata:
        """Return the whole record of an attempt by its folder, as it is now.

        Raises:
            UsageError: it has no line that counts.
        """
        data = self.run.update_lines().find(folder.relative_to(self.root).as_posix())
        if data is None:
            raise UsageError(f"{format_path(folder)} has no line in {format_path(self.root / ATTEMPTS)}.")
        return data.metadata
