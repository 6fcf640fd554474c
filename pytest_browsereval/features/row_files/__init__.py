"""Rows from files that are read whole."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={
        "dataset": {"json": "readers:JsonConfig", "csv": "readers:CsvConfig", "yaml": "readers:YamlConfig"}
    }
)
