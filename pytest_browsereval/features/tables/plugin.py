"""The exports ``parquet`` and ``csv``, and ``StoredRun.table``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from pytest_browsereval.runs.run import StoredRun


def pytest_browsereval_make_table(run: StoredRun, name: str) -> pa.Table | None:
    """Return a table of a run; None for a name of no table."""
    from pytest_browsereval.features.tables.schema import COLUMNS

    if name not in COLUMNS:
        return None
    from pytest_browsereval.features.tables.parquet import make_table

    return make_table(run, name)
