"""JSON Lines: one row per line. Collecting parses only the id of a row."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal

from pytest_browsereval.config_text import DocumentError
from pytest_browsereval.config_text.json_text import json_value
from pytest_browsereval.datasets.base import RowRef, Select
from pytest_browsereval.datasets.rows import RowFile, RowIndex, refuse_unreadable
from pytest_browsereval.datasets.selection import select_rows
from pytest_browsereval.model.tasks import Task

BOM = b"\xef\xbb\xbf"

_TEXT = rb'"(?:[^"\\]|\\.)*+"'
_SCALAR = rb"(?:" + _TEXT + rb"|[-+.\w]+)"


class JsonLinesConfig(RowFile):
    """Reads JSON Lines, the format of BrowserOS."""

    type: Literal["jsonl"] = "jsonl"

    def index(self, base_dir: Path, ids: Collection[str] | None = None) -> Sequence[RowRef]:
        """Return the selected rows; see ``DatasetConfig``."""
        path = self.file(base_dir)
        with refuse_unreadable(path), path.open("rb") as file:
            # A named row can be run while others are still broken. A sample needs all rows, in any case.
            if ids is not None and self.select == Select():
                named = self._scan(file, RowIndex(path, self.id_column, ids))
                if named.is_complete:
                    return named.finish()
                file.seek(0)
            refs = self._scan(file, RowIndex(path, self.id_column)).finish()
        return select_rows(refs, self.select, lambda ref: self.map_columns(self._row(ref)), path, ids)

    def read(self, ref: RowRef) -> Task:
        """Return one row, checked in full; see ``DatasetConfig``."""
        return self.task(self._row(ref), ref)

    def _row(self, ref: RowRef) -> Any:
        with refuse_unreadable(ref.path), ref.path.open("rb") as file:
            file.seek(ref.offset)
            try:
                return json_value(file.read(ref.length).decode())
            except (DocumentError, UnicodeDecodeError) as error:
                raise DocumentError(_describe_error(error), ref.line) from None

    def _scan(self, file: BinaryIO, rows: RowIndex) -> RowIndex:
        key = json.dumps(self.id_column).encode()
        find_id = _id_pattern(key).match
        offset = 0
        # The pattern finds an id faster than `json.loads` parses a row, and a file may have 100,000 rows.
        for line, raw in enumerate(file, 1):
            length = len(raw)
            match = find_id(raw)
            # If the key occurs twice or the brace does not close, only parsing shows what the row is.
            if match and raw.find(key, match.end()) < 0 and raw.endswith((b"}\n", b"}", b"}\r\n")):
                try:
                    rows.add(match[1].decode(), line, offset, length)
                except UnicodeDecodeError as error:
                    rows.report(line, _describe_error(error))
            else:
                skipped = len(BOM) if line == 1 and raw.startswith(BOM) else 0
                _parse_id(rows, raw[skipped:], line, offset + skipped)
            offset += length
        return rows


def _id_pattern(key: bytes) -> re.Pattern[bytes]:
    """Return a pattern for a line up to its id, if only plain values come before it."""
    # Possessive quantifiers (`*+`): a hostile line must not make the search go back and forth for hours.
    pair = rb"\s*+" + _TEXT + rb"\s*+:\s*+" + _SCALAR + rb"\s*+,"
    before = rb"(?:(?!\s*+" + re.escape(key) + rb")" + pair + rb")*+"
    return re.compile(rb"\s*+\{" + before + rb"\s*+" + re.escape(key) + rb'\s*+:\s*+"([^"\\\x00-\x1f]++)"')


def _parse_id(rows: RowIndex, raw: bytes, line: int, offset: int) -> None:
    if not raw.strip():
        return
    try:
        rows.add_row(json_value(raw.decode().rstrip()), line, offset, len(raw))
    except (DocumentError, UnicodeDecodeError) as error:
        rows.report(line, _describe_error(error))


def _describe_error(error: DocumentError | UnicodeDecodeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 (byte {error.object[error.start]:#04x}). Save the file as UTF-8."
    return str(error)
