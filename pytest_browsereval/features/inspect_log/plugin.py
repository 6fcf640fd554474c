"""``browsereval export --to inspect`` and ``import-run inspect``: runs as logs of Inspect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.registry import Registry
    from pytest_browsereval.run.foreign import ImportFormat


def pytest_browsereval_register(registry: Registry) -> None:
    """Register the export."""
    registry.announce("export", "inspect", "pytest_browsereval.features.inspect_log.export:InspectExport")


def pytest_browsereval_run_formats() -> Sequence[ImportFormat]:
    """Return the format that is read."""
    from pytest_browsereval.features.inspect_log.reader import read_run
    from pytest_browsereval.run.foreign import ImportFormat

    return (ImportFormat("inspect", read_run),)
