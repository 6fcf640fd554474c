"""What the folder of a stored attempt holds next to its record: the task, the messages, the evidence."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from pytest_browsereval.errors import DatasetError
from pytest_browsereval.model.messages import Message, read_message
from pytest_browsereval.model.tasks import TASK_FILE, Task
from pytest_browsereval.run_files import read_written

LOG_FILE = "messages.jsonl"

_NUMBERED = re.compile(r"(\d+)\.(?:jpe?g|png|webp)")


class StoredTask(BaseModel):
    """``task.json`` of an attempt."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    task: Task
    graders: tuple[dict[str, JsonValue], ...] = ()
    site_urls: dict[str, str] = Field(default_factory=dict)
    unobserved: dict[str, str] = Field(default_factory=dict)
    """Graders that could not observe the page, and why."""
    row_hash: str = ""
    """Of the row as it was read; empty in attempts of earlier versions, whose ``metadata.json`` has it."""
    observed: dict[str, str] = Field(default_factory=dict)
    """What graders observed the page for (``observation_keys``)."""


def read_stored(folder: Path) -> StoredTask:
    """Return what an attempt was about.

    Raises:
        DatasetError: the file is damaged.
    """
    file = folder / TASK_FILE
    try:
        return StoredTask.model_validate_json(read_written(file))
    except (OSError, ValidationError) as error:
        first = str(error).partition("\n")[0]
        message = f"{file} is damaged: {first}. Restore it, or remove the attempt's folder."
        raise DatasetError(message) from None


def read_log(
    folder: Path, content: bytes | None = None, *, is_empty_allowed: bool = True
) -> tuple[tuple[Message, ...], str]:
    """Return the messages of an attempt up to a damaged line, and what is damaged; "" if nothing is.

    A last line that was cut by a kill is no damage; one of a finished attempt is. Nor is a missing log.

    Args:
        folder: the attempt's.
        content: of its log, if it was read already.
        is_empty_allowed: whether an empty log is no damage.
    """
    file, messages, why = folder / LOG_FILE, list[Message](), ""
    try:
        *lines, rest = (read_written(file) if content is None else content).split(b"\n")
    except FileNotFoundError:
        return (), ""
    except OSError as error:
        return (), f"{file} cannot be read: {error.strerror}. Restore it."
    try:
        messages += map(read_message, lines)
    except ValidationError:
        why = "it is not a message"
    except ValueError as error:
        why = str(error)
    number = len(messages) + 1
    is_cut = bool(rest) or not (lines or is_empty_allowed)
    if not why and is_cut and (folder / "metadata.json").exists():
        why = "its last line is cut off" if rest else "it is empty"
    if rest and number > len(lines):
        with suppress(ValueError):  # nothing but its end is missing
            messages.append(read_message(rest))
    return tuple(messages), f"{file}:{number} is damaged: {why}. Restore it." if why else ""


def read_messages(folder: Path) -> tuple[Message, ...]:
    """Return the messages of an attempt up to a damaged line, such as a last one that was cut by a kill."""
    return read_log(folder)[0]


def check_log(folder: Path, *, is_empty_allowed: bool = False) -> None:
    """Check that the messages of an attempt can be read: graders would judge what is left of them.

    Args:
        folder: the attempt's.
        is_empty_allowed: whether someone looks at it who sees that it is empty.

    Raises:
        DatasetError: the file is missing or damaged.
    """
    why = read_log(folder, is_empty_allowed=is_empty_allowed)[1]
    if not why and not (file := folder / LOG_FILE).exists():
        why = f"{file} cannot be read: No such file. Restore it."
    if why:
        raise DatasetError(why)


def number_of(path: Path) -> int:
    """Return the number of a recorded picture, 0 for another file."""
    found = _NUMBERED.fullmatch(path.name)
    return int(found[1]) if found else 0


def find_pictures(folder: Path) -> list[Path]:
    """Return the pictures of an attempt that are there, in the order in which they were taken.

    Links are left out: a program of the attempt could have made them, and they may lead anywhere. What
    opens a picture refuses one that is not a plain file.
    """
    place = folder / "screenshots"
    files = place.glob("*") if place.is_dir() and not place.is_symlink() else ()
    found = [file for file in files if number_of(file) and not file.is_symlink()]
    return sorted(found, key=lambda file: (number_of(file), file.name))
