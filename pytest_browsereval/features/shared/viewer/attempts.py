"""Reads attempts for the viewer one at a time, and reports damaged ones."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run_files import open_written
from pytest_browsereval.runs.rewritten import attempt_number
from pytest_browsereval.runs.run import StoredRun

# Folders between `tasks` and an attempt: task, variant, trial.
_LEVELS = 3


@dataclass(frozen=True, slots=True)
class ShownAttempt:
    """The folder of an attempt and what its line says."""

    folder: str
    key: str
    """Its path below ``tasks``, with slashes."""
    metadata: TaskMetadata | None
    text: str
    """The line; empty if there is none."""
    problem: str = ""
    """Why there is no record; empty if the attempt is still in flight, or was killed."""
    cause: Cause | None = None
    """Why it did not pass, if a feature knows that."""

    @property
    def number(self) -> int:
        """Which try at its trial it is, by its folder."""
        return _number(self.key.rpartition("/")[2])


def iter_attempts(run: StoredRun) -> Iterator[ShownAttempt]:
    """Yield all attempts in the order of the folders' names, tries of a trial in theirs."""
    lines, tasks = run.update_lines(), f"{run.folder}{os.sep}tasks"
    recorded = (tuple(trial.split("/")[1:]) for trial in lines.trials)
    for parts in sorted({*_trials(tasks, ()), *recorded}):
        made = (f"attempt-{data.attempt}" for data in lines.list_tries("/".join(("tasks", *parts))))
        _, folders = list_names("/".join((tasks, *parts)))
        for name in sorted({*filter(_number, folders), *made}, key=_number):
            yield read_attempt(run, "/".join((*parts, name)))


def _trials(folder: str, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if len(above) == _LEVELS:
        yield above
        return
    for name in list_names(folder)[1]:
        yield from _trials(f"{folder}{os.sep}{name}", (*above, name))


def _number(name: str) -> int:
    return attempt_number(name) or 0


def read_attempt(run: StoredRun, key: str) -> ShownAttempt:
    """Return what is stored of an attempt.

    Args:
        run: the run.
        key: its path below ``tasks``, with slashes.
    """
    folder, lines = f"{run.folder}{os.sep}tasks{os.sep}{key}", run.update_lines()
    data = lines.find(f"tasks/{key}")
    if data is None:
        return ShownAttempt(folder, key, None, "", lines.describe_damage(f"tasks/{key}"))
    try:
        content = run.read_content(data)
    except UsageError as error:
        return ShownAttempt(folder, key, None, "", str(error))
    metadata = TaskMetadata.model_validate_json(content)
    cause = None if metadata.verdict is Verdict.PASSED else run.door.find_cause(metadata, Path(folder))
    return ShownAttempt(folder, key, metadata, content.decode("utf-8", "replace"), cause=cause)


def read_lines(file: str, longest: int) -> tuple[str, int]:
    """Return the first lines of a file, and how many of its bytes are left out; none if it cannot be read."""
    try:
        with open_written(file) as opened:
            size = os.fstat(opened.fileno()).st_size
            data = opened.read(longest)
    except OSError:
        return "", 0
    if size > longest:
        data = data[: data.rfind(b"\n") + 1]
    return data.decode("utf-8", "replace"), size - len(data) if size > longest else 0


@dataclass(frozen=True, slots=True)
class Names:
    """The names of what is in an attempt's folder.

    Links are left out: a program of the attempt could have made them, and they may lead anywhere.
    """

    files: list[str]
    folders: list[str]
    pictures: list[str]


def names_in(folder: str) -> Names:
    """Return the names of an attempt's files, folders and pictures."""
    files, folders = list_names(folder)
    pictures, _ = list_names(f"{folder}{os.sep}screenshots") if "screenshots" in folders else ([], [])
    return Names(files, folders, pictures)


def list_names(folder: str) -> tuple[list[str], list[str]]:
    """Return the names of a folder's files and folders, without links."""
    try:
        with os.scandir(folder) as entries:
            own = [entry for entry in entries if not entry.is_symlink()]
    except OSError:
        return [], []
    files = sorted(entry.name for entry in own if entry.is_file())
    return files, sorted(entry.name for entry in own if entry.is_dir())
