"""Files that come with rows: found next to the dataset, never outside of its folder, and known by content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from pytest_browsereval.config_text import format_path
from pytest_browsereval.datasets.base import RowRef
from pytest_browsereval.errors import DatasetError, nearest
from pytest_browsereval.model.tasks import RowFile, Task
from pytest_browsereval.run_files import Stamp, make_stamp
from pytest_browsereval.session_caches import cache_for_session


def add_hashes(task: Task, ref: RowRef) -> Task:
    """Return a row whose files have the hashes of their contents.

    Raises:
        DatasetError: one is missing, cannot be read or is not the row's to use; with file and line.
    """
    if not task.files:
        return task
    problems, files = [], list[RowFile]()
    for file in task.files:
        try:
            files.append(_add_hash(file, ref.path.parent, known=files))
        except (ValueError, OSError) as error:
            what = f"{file.path!r} cannot be read: "
            why = f"{what}{error.strerror}" if isinstance(error, OSError) else str(error)
            problems.append(f"{format_path(ref.path)}:{ref.line}: files: {why}")
    if problems:
        raise DatasetError("\n".join(problems))
    return task.model_copy(update={"files": tuple(files)})


def locate_files(task: Task, ref: RowRef) -> dict[str, Path]:
    """Return where the files of a row are, by their names."""
    return {file.path: (ref.path.parent / file.path).absolute() for file in task.files}


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's content.

    Raises:
        OSError: it cannot be read.
    """
    return _hash(path, make_stamp(path.stat()))


@cache_for_session(maxsize=1024)
def _hash(path: Path, _stamp: Stamp) -> str:  # another content is another stamp
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _add_hash(file: RowFile, folder: Path, known: list[RowFile]) -> RowFile:
    """Return a file with its hash.

    Raises:
        ValueError: it is not there, or not the row's to use; with what to write.
        OSError: it cannot be read.
    """
    name, parts = file.path, Path(file.path).parts
    if "\0" in name or Path(name).is_absolute() or ".." in parts:
        raise ValueError(
            f"{name!r} is not a path inside the folder of the dataset. Put the file next to the dataset, and "
            'write its path from there, such as "fixtures/cv.pdf".'
        )
    # Rows are downloaded, and choose the page that gets the file: `.env` and `.ssh` are not for them.
    if hidden := next((part for part in parts if part.startswith(".")), None):
        raise ValueError(f"{name!r} is hidden ({hidden!r}), and rows may not use hidden files. Rename it.")
    if name in (one.path for one in known):
        raise ValueError(f"{name!r} is listed twice. Name it once.")
    path = folder / name
    if not path.is_file():
        kind = "is a folder, not a file" if path.is_dir() else "does not exist"
        hint = nearest(name, list(_list_near(path, folder)))
        raise ValueError(f"{name!r} {kind} (looked for {format_path(path)}).{hint}")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{name!r} is a link that leads out of the dataset's folder. Put a copy there.")
    digest = hash_file(path)
    if file.sha256 not in (None, digest):
        why = f"{name!r} has the SHA-256 {digest}, not {file.sha256}"
        raise ValueError(f"{why}. Restore the file, or leave sha256 out.")
    return RowFile(path=name, sha256=digest)


def _list_near(path: Path, folder: Path) -> Iterator[str]:
    """Yield what stands where a missing file was looked for, as a row would name it."""
    near = path.parent
    if near.is_dir() and near.resolve().is_relative_to(folder.resolve()):
        yield from (one.relative_to(folder).as_posix() for one in sorted(near.iterdir()) if one.is_file())
