"""Finished runs as tables: Parquet, CSV, JSON Lines, and pyarrow's own."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={
        "export": {
            "parquet": "export:ParquetExport",
            "csv": "export:CsvExport",
            "jsonl": "export:JsonLinesExport",
        }
    },
    hooks="plugin",
)
