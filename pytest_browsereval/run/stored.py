"""What the folder of a stored attempt holds beside its record: the task, the messages, the evidence."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from pytest_browsereval.capture.trajectory import EVIDENCE_FILE, TASK_FILE, load_written, read_written
from pytest_browsereval.errors import DatasetError
from pytest_browsereval.model.messages import read_message
from pytest_browsereval.model.tasks import Task


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
    observed: dict[str, str] | None = None
    """What graders observed the page for (``observation_keys``); None in attempts of earlier versions."""


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


def check_log(folder: Path, *, is_empty_allowed: bool = False) -> None:
    """Check that the messages of an attempt can be read: graders would judge what is left of them.

    A last line that was cut by a kill is no damage; one of a finished attempt, or an empty log, is.

    Args:
        folder: the attempt's.
        is_empty_allowed: whether somebody looks at it who sees that it is empty.

    Raises:
        DatasetError: the file is missing or damaged.
    """
    file = folder / "messages.jsonl"
    try:
        *lines, rest = read_written(file).split(b"\n")
    except OSError as error:
        raise DatasetError(f"{file} cannot be read: {error.strerror}. Restore it.") from None
    is_cut = bool(rest) or not (lines or is_empty_allowed)
    if is_cut and (folder / "metadata.json").exists():
        why = "its last line is cut off" if rest else "it is empty"
        raise DatasetError(f"{file}:{len(lines) + 1} is damaged: {why}. Restore it.")
    for number, line in enumerate(lines, 1):
        try:
            read_message(line)
        except ValidationError:
            raise DatasetError(f"{file}:{number} is damaged: it is not a message. Restore it.") from None
        except ValueError as error:
            raise DatasetError(f"{file}:{number} is damaged: {error}. Restore it.") from None


def find_log_damage(folder: Path) -> str | None:
    """Return why not all messages of a finished attempt can be read; None if they can, or there is no log."""
    if not (folder / "messages.jsonl").exists():
        return None
    try:
        check_log(folder, is_empty_allowed=True)
    except DatasetError as error:
        return str(error)
    return None


def read_evidence(folder: Path) -> dict[str, JsonValue]:
    """Return what graders observed; empty if none did.

    Raises:
        DatasetError: the file is damaged.
    """
    file = folder / EVIDENCE_FILE
    if not file.exists():
        return {}
    try:
        evidence = load_written(file)
    except (OSError, ValueError) as error:
        raise DatasetError(f"{file} is damaged: {error}. Restore it.") from None
    if not isinstance(evidence, dict):
        raise DatasetError(f"{file} is damaged: it is not a block of graders. Restore it.")
    return evidence
