"""Long texts of a record: they lie in the attempt's folder, and its line says where each belongs."""

from __future__ import annotations

import hashlib
import json
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from pytest_browsereval.config_text import format_path
from pytest_browsereval.errors import UsageError
from pytest_browsereval.model.results import TaskMetadata
from pytest_browsereval.run_files import read_written

LONGEST = 64_000
"""Characters of a text that stays in the line."""

START = b'{"long_texts":'
"""How a line begins that has left texts out."""


def take_out(record: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a record without its long texts, and these by the names of their files."""
    texts: dict[str, str] = {}
    places: list[list[str | int]] = []

    def walk(value: Any, *place: str | int) -> Any:
        if isinstance(value, str) and len(value) > LONGEST:
            name = _name(value.encode())
            texts[name] = value
            places.append([*place, name])
            return ""
        if isinstance(value, dict):
            return {key: walk(one, *place, key) for key, one in value.items()}
        return [walk(one, *place, at) for at, one in enumerate(value)] if isinstance(value, list) else value

    short = walk(record)
    return {"long_texts": places, **short}, texts


def put_back(line: bytes, folder: Path) -> bytes:
    """Return a line with its long texts.

    Args:
        line: as it was written.
        folder: of the attempt.

    Raises:
        UsageError: a text was changed or is gone, or the line names no place for one.
    """
    record = json.loads(line)
    for *way, last, name in record.pop("long_texts"):
        try:
            target = reduce(getitem, way, record)
            target[last] = _read(folder / name).decode()
        except (LookupError, TypeError):
            raise UsageError(f"{format_path(folder)}: its line has no place for {name!r}.") from None
    return json.dumps(record, ensure_ascii=False).encode()


def find_changed(data: TaskMetadata, folder: Path) -> str:
    """Return the name of the first long text that was changed or is gone; "" if all are as they were."""
    for *_, name in data.long_texts:
        try:
            _read(folder / str(name))
        except UsageError:
            return str(name)
    return ""


def _name(text: bytes) -> str:
    return f"text-{hashlib.blake2b(text, digest_size=16).hexdigest()}.txt"


def _read(path: Path) -> bytes:
    try:
        text = read_written(path)
    except OSError as error:
        raise UsageError(f"{format_path(path)} cannot be read: {error.strerror}.") from None
    if _name(text) != path.name:
        raise UsageError(f"{format_path(path)} has changed since the attempt ended. Restore it.")
    return text
