"""``browsereval export --to inspect``: runs as logs of Inspect."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register the export."""
    registry.announce("export", "inspect", "pytest_browsereval.features.inspect_log.export:InspectExport")
