"""Tables by pyarrow: Parquet files, and tables in memory."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_browsereval.errors import ConfigError
from pytest_browsereval.features.tables.schema import (
    COLUMNS,
    VERSION,
    Row,
    TableName,
    make_rows,
    read_attempt,
)
from pytest_browsereval.runs.keys import Kind
from pytest_browsereval.runs.run import StoredRun

if TYPE_CHECKING:
    import pyarrow as pa

CHARACTERS = 5_000_000
"""A group of rows is written once it has so many: of their texts, or of 32 for each of its columns."""


def check_pyarrow() -> None:
    """Check that pyarrow is there.

    Raises:
        ConfigError: it is not.
    """
    if find_spec("pyarrow") is None:
        raise ConfigError("needs an extra. Run `pip install 'pytest-browsereval[data]'`")


def make_schema(table: TableName) -> pa.Schema:
    """Return the schema of a table, with the version in its metadata."""
    import pyarrow as pa

    kinds: dict[Kind, Any] = {
        "word": pa.dictionary(pa.int32(), pa.string()),
        "text": pa.string(),
        "prose": pa.string(),
        "texts": pa.list_(pa.string()),
        "bool": pa.bool_(),
        "int32": pa.int32(),
        "int64": pa.int64(),
        "float": pa.float64(),
        "time": pa.timestamp("ms", tz="UTC"),
    }
    # Written out: of a column of nulls pyarrow would guess a type that joins with nothing.
    fields = [(name, kinds[kind]) for name, kind in COLUMNS[table].items()]
    return pa.schema(fields, {"browsereval.version": VERSION, "browsereval.table": table})


def make_batch(schema: pa.Schema, rows: Sequence[Row]) -> pa.Table:
    """Return rows as a table of pyarrow."""
    import pyarrow as pa

    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    arrays = [pa.array(values, field.type) for field, values in zip(schema, columns, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


class ParquetTable:
    """A Parquet file of one table.

    Args:
        path: of the file.
        table: which one.
    """

    def __init__(self, path: Path, table: TableName) -> None:
        import pyarrow.parquet as pq

        self._schema = make_schema(table)
        self._writer = pq.ParquetWriter(path, self._schema, compression="zstd")
        self._rows: list[Row] = []
        self._size = 0

    def write(self, row: Row) -> None:
        """Write a row; rows are kept until they are a group."""
        self._rows.append(row)
        self._size += sum(len(value) if isinstance(value, str) else 32 for value in row)
        if self._size >= CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        self._writer.write_table(make_batch(self._schema, self._rows))
        self._rows, self._size = [], 0

    def close(self) -> None:
        """Finish the file."""
        self._flush()
        self._writer.close()


def make_table(run: StoredRun, name: TableName) -> pa.Table:
    """Return a table of a run.

    Raises:
        ConfigError: pyarrow is not installed.
        UsageError: a record is damaged.
    """
    check_pyarrow()
    rows = (make_rows(name, read_attempt(one, (name,))) for one in run.attempts)
    return make_batch(make_schema(name), [row for some in rows for row in some])
