"""Finished runs as tables: Parquet, CSV, and pyarrow's own."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={"export": {"parquet": "export:ParquetExport", "csv": "export:CsvExport"}}, hooks="plugin"
)
