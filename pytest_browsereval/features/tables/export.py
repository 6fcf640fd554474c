"""The exports: a folder for each table, a file in it for each run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from pydantic import Field

from pytest_browsereval.analysis.reader import StoredRun
from pytest_browsereval.config.export import ExportConfig, Exported
from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.features.tables.reader import read_all_rows
from pytest_browsereval.features.tables.schema import COLUMNS, Row, TableName

ROWS, CHARACTERS = 10_000, 20_000_000
"""What is kept of a table in memory before it is written: rows, and characters of their texts."""


class Table(Protocol):
    """A file that rows are written to."""

    def write(self, rows: Sequence[Row]) -> None:
        """Write rows."""

    def close(self) -> None:
        """Finish the file."""


class TablesExport(ExportConfig):
    """Base of the three: what they write is the same."""

    output: Path = Path("tables")
    """The folder to write, with a folder for each table; a run that is in it already is written anew."""
    tables: Annotated[tuple[TableName, ...], Field(min_length=1)] = ("attempts", "grades", "steps")
    """Which tables: ``attempts``, ``grades``, ``steps``, ``messages``. The last one is by far the largest."""

    def open_table(self, path: Path, table: TableName) -> Table:
        """Return a new file of a table."""
        raise NotImplementedError

    def write(self, run: StoredRun, base_dir: Path) -> Exported:
        """Write the tables, each as a whole or not at all."""
        name = f"{safe_folder(run.eval)}-{run.id}.{self.type}"  # the evals of a session have one id
        paths = {table: base_dir / self.output / table / name for table in self.tables}
        for path in paths.values():
            path.parent.mkdir(parents=True, exist_ok=True)
        lost: list[str] = []
        with _begin(paths, self.open_table) as batches:
            for rows in read_all_rows(run, self.tables, lost):
                for table, given in rows.items():
                    batches[table].add(given)
        return Exported(str(self.output), len(run.summary.trials), lost=tuple(sorted(lost)))


class ParquetExport(TablesExport):
    """Parquet files, for DuckDB, notebooks and data warehouses. They need the extra ``data``."""

    type: Literal["parquet"] = "parquet"

    def preflight(self, base_dir: Path) -> None:
        """Check that pyarrow is there."""
        from pytest_browsereval.features.tables.parquet import check_pyarrow

        check_pyarrow()

    def open_table(self, path: Path, table: TableName) -> Table:
        """Return a new file of a table."""
        from pytest_browsereval.features.tables.parquet import ParquetTable

        return ParquetTable(path, table)


class CsvExport(TablesExport):
    """CSV files, for spreadsheets.

    A text that a spreadsheet could take for a formula has a ``'`` before it; one of more than 32,000
    characters is cut.
    """

    type: Literal["csv"] = "csv"

    def open_table(self, path: Path, table: TableName) -> Table:
        """Return a new file of a table."""
        from pytest_browsereval.features.tables.text_files import CsvTable

        return CsvTable(path, table)


class JsonLinesExport(TablesExport):
    """JSON Lines, for programs. A text of more than 2,000,000 characters is cut."""

    type: Literal["jsonl"] = "jsonl"

    def open_table(self, path: Path, table: TableName) -> Table:
        """Return a new file of a table."""
        from pytest_browsereval.features.tables.text_files import JsonLinesTable

        return JsonLinesTable(path, table)


class _Batch:
    """Rows of a table that wait until there are enough of them."""

    def __init__(self, table: Table, name: TableName) -> None:
        self.table = table
        self._prose = [place for place, kind in enumerate(COLUMNS[name].values()) if kind == "prose"]
        self._rows: list[Row] = []
        self._characters = 0

    def add(self, rows: Sequence[Row]) -> None:
        self._rows += rows
        self._characters += sum(len(row[place] or "") for row in rows for place in self._prose)
        if len(self._rows) >= ROWS or self._characters >= CHARACTERS:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            self.table.write(self._rows)
        self._rows, self._characters = [], 0


@contextlib.contextmanager
def _begin(
    paths: dict[TableName, Path], open_table: Callable[[Path, TableName], Any]
) -> Iterator[dict[TableName, _Batch]]:
    """Give files to write, which take their places once all of them are whole."""
    begun = {table: path.with_name(f".{path.name}.part") for table, path in paths.items()}
    try:
        with contextlib.ExitStack() as stack:
            batches: dict[TableName, _Batch] = {}
            for table, path in begun.items():
                batches[table] = _Batch(open_table(path, table), table)
                stack.callback(batches[table].table.close)
            yield batches
            for batch in batches.values():
                batch.flush()
        for table, path in begun.items():
            path.replace(paths[table])
    finally:
        for path in begun.values():
            path.unlink(missing_ok=True)
