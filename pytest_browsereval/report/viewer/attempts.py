"""Reads attempts for the viewer one at a time, and reports damaged ones."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from pytest_browsereval.door import Door
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.causes import Cause
from pytest_browsereval.model.grades import Verdict
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run.reading import read_metadata
from pytest_browsereval.run.records import attempt_number
from pytest_browsereval.run_files import open_written

# Bytes; the page says how many are left out.
LONGEST_LOG = 32 << 20

# Folders between `tasks` and an attempt: task, variant, trial.
_LEVELS = 3


@dataclass(frozen=True, slots=True)
class StoredAttempt:
    """The folder of an attempt and what its ``metadata.json`` says."""

    folder: str
    key: str
    """Its path below ``tasks``, with slashes."""
    metadata: TaskMetadata | None
    text: str
    """``metadata.json`` as it stands; empty if there is none."""
    problem: str = ""
    """Why there is no metadata; empty if the attempt is still in flight, or was killed."""
    cause: Cause | None = None
    """Why it did not pass, if a feature knows that."""

    @property
    def number(self) -> int:
        """Which try at its trial it is, by its folder."""
        return _number(self.key.rpartition("/")[2])


def iter_attempts(door: Door, tasks: Path) -> Iterator[StoredAttempt]:
    """Yield all attempts in the order of the folders' names, tries of a trial in theirs."""
    for parts in _trials(str(tasks), ()):
        yield from attempts_of(door, str(tasks), parts)


def attempts_of(
    door: Door, tasks: str, parts: tuple[str, ...], besides: Container[str] = frozenset()
) -> Iterator[StoredAttempt]:
    """Yield the attempts of a trial in their order.

    Args:
        door: asks plug-ins for causes.
        tasks: the folder of all.
        parts: the trial's folder below it.
        besides: keys of attempts that are not wanted.
    """
    trial = os.path.join(tasks, *parts)  # noqa: PTH118 a path object for each of 20,000 costs a second
    for name in sorted((name for name in _folders(trial) if _number(name)), key=_number):
        if (key := "/".join((*parts, name))) not in besides:
            yield read_attempt(door, f"{trial}{os.sep}{name}", key)


def _trials(folder: str, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    if len(above) == _LEVELS:
        yield above
        return
    for name in sorted(_folders(folder)):
        yield from _trials(f"{folder}{os.sep}{name}", (*above, name))


def _folders(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if entry.is_dir()]
    except OSError:
        return []


def _number(name: str) -> int:
    return attempt_number(name) or 0


def read_attempt(door: Door, folder: str, key: str) -> StoredAttempt:
    """Return what is stored of an attempt.

    Args:
        door: asks plug-ins for its cause.
        folder: where it is.
        key: its path below ``tasks``, with slashes.
    """
    try:
        with open_written(f"{folder}{os.sep}metadata.json") as file:
            data = file.read()
    except FileNotFoundError:
        return StoredAttempt(folder, key, None, "")
    except OSError as error:
        return StoredAttempt(folder, key, None, "", f"metadata.json cannot be read: {error.strerror}")
    text = data.decode("utf-8", "replace")
    try:
        metadata = TaskMetadata.model_validate_json(data)
    except ValidationError:
        return StoredAttempt(folder, key, None, text, _why(Path(folder)))
    cause = None if metadata.verdict is Verdict.PASSED else door.find_cause(metadata, Path(folder))
    return StoredAttempt(folder, key, metadata, text, cause=cause)


def _why(folder: Path) -> str:
    try:
        read_metadata(folder)
    except UsageError as error:
        return str(error).replace(str(folder) + os.sep, "")
    return "metadata.json was written while the page was made; write it again"


def message_log(folder: str) -> tuple[str, int]:
    """Return the message log of an attempt as it stands, and how many of its bytes are left out."""
    try:
        with open_written(f"{folder}{os.sep}messages.jsonl") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(LONGEST_LOG)
    except OSError:
        return "", 0
    if size > LONGEST_LOG:
        data = data[: data.rfind(b"\n") + 1]
    return data.decode("utf-8", "replace"), max(size - len(data), 0) if size > LONGEST_LOG else 0


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
    files, folders = _names(folder)
    pictures, _ = _names(f"{folder}{os.sep}screenshots") if "screenshots" in folders else ([], [])
    return Names(files, folders, pictures)


def _names(folder: str) -> tuple[list[str], list[str]]:
    files, folders = [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    files.append(entry.name)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
    except OSError:
        return [], []
    return sorted(files), folders
