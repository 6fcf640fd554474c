"""Tables as CSV, for spreadsheets."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pytest_browsereval.features.tables.schema import COLUMNS, Row, TableName
from pytest_browsereval.runs.keys import Kind

LONGEST_CELL = 32_000
"""Characters of a cell of CSV: spreadsheets take 32,767, and Python's reader 131,072."""

_FORMULA = re.compile(r"['=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
"""How a text begins that a spreadsheet could run: https://owasp.org/www-community/attacks/CSV_Injection."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CsvTable:
    """A CSV file of one table, with a header. Unknown and empty are an empty cell.

    Args:
        path: of the file.
        table: which one.
    """

    def __init__(self, path: Path, table: TableName) -> None:
        self._file = path.open("w", newline="", encoding="utf-8")
        self._writer = csv.writer(self._file, lineterminator="\n")
        self._writer.writerow(COLUMNS[table])
        self._shown = [_CELLS[kind] for kind in COLUMNS[table].values()]

    def write(self, row: Row) -> None:
        """Write a row."""
        pairs = zip(self._shown, row, strict=True)
        self._writer.writerow("" if value is None else show(value) for show, value in pairs)

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula: with a ``'`` before it, as people type it."""
    shown = text.replace("\0", "�")
    if _FORMULA.match(shown):
        shown = f"'{shown}"
    return shown if len(shown) <= LONGEST_CELL else f"{shown[: LONGEST_CELL - 1]}…"


def _time(value: int) -> str:
    shown = (_EPOCH + timedelta(milliseconds=value)).isoformat(timespec="milliseconds")
    return shown.replace("+00:00", "Z")


_CELLS: dict[Kind, Callable[[Any], Any]] = {
    **dict.fromkeys(("word", "text", "prose"), _cell),
    **dict.fromkeys(("int32", "int64", "float"), str),
    "texts": lambda value: json.dumps(value, ensure_ascii=False),
    "bool": lambda value: "true" if value else "false",
    "time": _time,
}
