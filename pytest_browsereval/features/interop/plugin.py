"""Rows and runs of other systems: ``browsereval import`` and ``import-run``, and an export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.run.imports import ImportFormat


def pytest_browsereval_run_formats() -> Sequence[ImportFormat]:
    """Return the formats that this package reads."""
    from pytest_browsereval.features.interop import browseros, webvoyager
    from pytest_browsereval.run.imports import ImportFormat

    return tuple(ImportFormat(reader.KIND, reader.read_run) for reader in (browseros, webvoyager))
