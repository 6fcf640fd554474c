"""``browsereval export --to atif``: attempts as documents of ATIF."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register the export."""
    registry.announce("export", "atif", "pytest_browsereval.features.atif.export:AtifExport")
