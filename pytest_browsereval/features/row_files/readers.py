"""JSON, YAML and CSV: files that are read whole."""

from __future__ import annotations

import contextlib
import re
from abc import abstractmethod
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from pytest_browsereval.config_text import DocumentError, parse, read_text
from pytest_browsereval.config_text.json_text import json_value
from pytest_browsereval.datasets.base import RowRef
from pytest_browsereval.datasets.rows import ROW_KEYS, RowFile, RowIndex, refuse_unreadable, rename_columns
from pytest_browsereval.datasets.selection import select_rows
from pytest_browsereval.errors import nearest
from pytest_browsereval.features.shared.row_source import Block, Row, State, read_table, state_of
from pytest_browsereval.model.tasks import Task
from pytest_browsereval.redaction.known import beginning
from pytest_browsereval.session_caches import cache_for_session


class WholeFile(RowFile):
    """Base of the members whose files cannot be read in part."""

    def index(self, base_dir: Path, ids: Collection[str] | None = None) -> Sequence[RowRef]:
        """Return the selected rows; see ``DatasetConfig``."""
        path = self.file(base_dir)
        rows = self._rows(path)
        listed = RowIndex(path, self.id_column)
        for place, (line, row) in enumerate(rows):
            listed.add_row(row, line, place)
        return select_rows(
            listed.finish(), self.select, lambda ref: self.map_columns(rows[ref.offset][1]), path, ids
        )

    def read(self, ref: RowRef) -> Task:
        """Return one row, checked in full; see ``DatasetConfig``."""
        rows = self._rows(ref.path)
        return self.task(rows[ref.offset][1] if ref.offset < len(rows) else None, ref)

    @abstractmethod
    def parse(self, text: str) -> list[Row]:
        """Return the rows of a file's text.

        Raises:
            DocumentError: it cannot be read.
        """

    def _rows(self, path: Path) -> list[Row]:
        with refuse_unreadable(path):
            return _read(path, state_of(path), Block.of(self))


@cache_for_session(maxsize=16)
def _read(path: Path, state: State, block: Block) -> list[Row]:
    """Return the rows of a file in that state."""
    # Cached because rows are read one at a time, and each read would parse the whole file.
    del state
    rows: list[Row] = block.config.parse(read_text(path))
    return rows


# -- JSON and YAML


class JsonConfig(WholeFile):
    """Reads a JSON file: a list of rows, or ``{"tasks": [...]}``, where editors may have a ``$schema``."""

    type: Literal["json"] = "json"

    def parse(self, text: str) -> list[Row]:
        """Return the rows of a JSON text."""
        return _list_rows(text, ".json")


class YamlConfig(WholeFile):
    """Reads a YAML file: a list of rows, or ``tasks:`` with one."""

    type: Literal["yaml"] = "yaml"

    def parse(self, text: str) -> list[Row]:
        """Return the rows of a YAML text."""
        return _list_rows(text, ".yaml")


def _list_rows(text: str, suffix: str) -> list[Row]:
    document = parse(text, suffix)
    for line, message in document.problems:
        raise DocumentError(message, line)
    rows, path = document.value, tuple[str, ...]()
    if isinstance(rows, dict) and rows.keys() - {"$schema"} == {"tasks"}:
        rows, path = rows["tasks"], ("tasks",)
    if not isinstance(rows, list | None):
        raise DocumentError("expected a list of rows, or a block with the one key 'tasks' that holds it.", 1)
    return [(document.line_of((*path, place)) or 1, row) for place, row in enumerate(rows or [])]


# -- CSV

_NAMES = frozenset({"graders", "tags", "sites"})
"""Columns whose cells may also be written ``a;b`` or ``a,b``: no name of theirs has one of the two."""

_LISTS = _NAMES | {"depends_on", "files"}
"""Columns whose cells may also be written ``a;b``."""

_STRUCTURED = frozenset({"checks", "milestones", "solution", "ready", "metadata", "metadata.additional"})
"""Columns whose cells are JSON."""

_EITHER = frozenset({"answer", "effects", "rubric", "metadata.source"})
"""Columns whose cells are JSON if they parse as a list or object, and plain text otherwise."""


class CsvConfig(WholeFile):
    """Reads a CSV file with a header; lists and blocks in cells are JSON, and empty cells count as absent."""

    type: Literal["csv"] = "csv"

    delimiter: str = Field(default=",", min_length=1, max_length=1)
    """The character between cells; a tab for TSV."""

    def parse(self, text: str) -> list[Row]:
        """Return the rows of a CSV text, whose columns have to be there."""
        header, rows = read_table(text, self.delimiter)
        for key, column in {"query_id": "query_id", **self.columns}.items():
            if header and column not in header:  # `RowIndex.finish` reports an empty file
                hint = nearest(column, set(header) - ROW_KEYS)
                raise DocumentError(
                    f"there is no column {column!r} for {key}.{hint} Columns: {', '.join(header)}. Name it "
                    f"in the config: `columns: {{{key}: COLUMN}}`.",
                    1,
                )
        key_of = {column: key for key, column in self.columns.items()}
        return [(line, _csv_row(row, key_of, line)) for line, row in rows]

    def map_columns(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with the keys of a task; all other columns go to ``metadata.additional``."""
        return rename_columns(row, self.columns or {"query_id": "query_id"})


def _csv_row(row: dict[str, str], key_of: dict[str, str], line: int) -> dict[str, Any]:
    values = {}
    for column, cell in row.items():
        if cell:
            try:
                values[column] = _cell(key_of.get(column, column), cell)
            except DocumentError as error:
                raise DocumentError(f"{column}: {beginning(cell, 80)!r} is {error}", line) from None
    return values


def _cell(key: str, cell: str) -> Any:
    looks_like_json = cell.lstrip().startswith(("[", "{"))
    if key in _LISTS and not looks_like_json:
        parts = re.split("[;,]" if key in _NAMES else ";", cell)
        return [part.strip() for part in parts if part.strip()]
    if key in _STRUCTURED | _LISTS:
        return json_value(cell)
    if key in _EITHER and looks_like_json:
        with contextlib.suppress(DocumentError):
            return json_value(cell)
    return cell
