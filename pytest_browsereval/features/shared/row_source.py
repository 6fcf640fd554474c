"""The files that rows come from: their state, their tables, and keys of caches."""

from __future__ import annotations

import csv
import io
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_browsereval.config_text import DocumentError
from pytest_browsereval.datasets.base import DatasetConfig
from pytest_browsereval.redaction.known import beginning

Row = tuple[int, Any]
"""The line that a row begins at, 0 where its format has no lines, and its value."""

State = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Block:
    """A dataset's block as a key of caches: it may hold lists, so it has no hash itself."""

    text: str
    member: type[DatasetConfig]
    """Equal blocks of two classes must not share rows."""
    config: Any = field(compare=False)

    @classmethod
    def of(cls, config: DatasetConfig) -> Block:
        """Return the key of a block."""
        return cls(config.model_dump_json(), type(config), config)


def state_of(path: Path) -> State:
    """Return what changes when a file does, or any file that lies in a folder.

    Raises:
        OSError: it is not there.
    """
    if not path.is_dir():
        state = path.stat()
        return ((path.name, state.st_mtime_ns, state.st_size),)
    with os.scandir(path) as entries:
        states = sorted((entry.name, entry.stat()) for entry in entries if entry.is_file())
    return tuple((name, state.st_mtime_ns, state.st_size) for name, state in states)


def _check_delimiter(header: list[str], delimiter: str) -> None:
    """Refuse a table that has another character between its cells.

    Raises:
        DocumentError: with what to write.
    """
    for other, spelling in ((";", ";"), ("\t", "\\t"), ("|", "|"), (",", ",")):
        if len(header) == 1 and other != delimiter and other in header[0]:
            raise DocumentError(
                f"the header has one column, {beginning(header[0], 80)!r}: cells seem to be separated by "
                f'{other!r}. Write `dataset: [{{type: csv, path: ..., delimiter: "{spelling}"}}]`.',
                1,
            )


def read_table(text: str, delimiter: str) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return the columns of a CSV text, and its rows with the lines that they begin at.

    Raises:
        DocumentError: it is not CSV, two columns have one name, or a row has too few or too many cells.
    """
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header: list[str] = []
    rows, begins = [], 1
    try:
        for cells in lines:
            if not header and any(cells):
                header = cells
                _check_delimiter(header, delimiter)
                if twice := next((name for name in header if header.count(name) > 1), None):
                    raise DocumentError(f"two columns are named {twice!r}. Rename one.", begins)
            elif any(cells):
                if len(cells) != len(header):
                    counts = f"the row has {len(cells)} cells, the header {len(header)}"
                    raise DocumentError(f"{counts}. Quote cells that hold {delimiter!r}.", begins)
                rows.append((begins, dict(zip(header, cells, strict=True))))
            # A quoted cell may hold line ends, so rows and lines are not the same number.
            begins = lines.line_num + 1
    except csv.Error as error:
        raise DocumentError(f"not CSV: {error}.", begins) from None
    return header, rows
