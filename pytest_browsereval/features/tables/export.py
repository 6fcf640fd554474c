"""The exports: a folder for each table, a file in it for each run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal, Protocol

from pydantic import Field

from pytest_browsereval.config.export import ExportConfig, Exported
from pytest_browsereval.datasets.ids import safe_folder
from pytest_browsereval.features.tables.schema import Row, TableName, make_rows, read_attempt
from pytest_browsereval.runs.run import StoredRun


class Table(Protocol):
    """A file that rows are written to."""

    def write(self, row: Row) -> None:
        """Write a row."""

    def close(self) -> None:
        """Finish the file."""


class TablesExport(ExportConfig):
    """Base of the two: what they write is the same."""

    output: Path = Path("tables")
    """The folder to write, with a folder for each table; a run that is in it already is replaced."""
    tables: Annotated[tuple[TableName, ...], Field(min_length=1)] = ("attempts", "grades", "steps")
    """Which tables: ``attempts``, ``grades``, ``steps``, ``messages``. The last one is by far the largest."""

    def open_table(self, path: Path, table: TableName) -> Table:
        """Return a new file of a table."""
        raise NotImplementedError

    def write(self, run: StoredRun, base_dir: Path) -> Exported:
        """Write the tables, each as a whole or not at all."""
        name = f"{safe_folder(run.eval)}-{run.id}.{self.type}"  # the evals of a session have one id
        lost: list[str] = []
        with self._open_tables(base_dir / self.output, name) as files:
            for stored in run.attempts:
                attempt = read_attempt(stored, self.tables)
                lost += [f"{stored.query_id}: {attempt.damage}"] if attempt.damage else []
                for table, file in files.items():
                    for row in make_rows(table, attempt):
                        file.write(row)
        return Exported(str(self.output), len(run.summary.trials), lost=tuple(sorted(lost)))

    @contextlib.contextmanager
    def _open_tables(self, folder: Path, name: str) -> Iterator[dict[TableName, Table]]:
        """Give files to write, which take their places once all of them are whole."""
        begun = {table: folder / table / f".{name}.part" for table in self.tables}
        try:
            with contextlib.ExitStack() as stack:
                files: dict[TableName, Table] = {}
                for table, path in begun.items():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    files[table] = self.open_table(path, table)
                    stack.callback(files[table].close)
                yield files
            for path in begun.values():
                path.replace(path.with_name(name))
        finally:
            for path in begun.values():
                path.unlink(missing_ok=True)


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
