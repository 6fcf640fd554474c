"""``dataset: {type: json}``, ``csv`` and ``yaml``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register the datasets; each is imported when a config names it."""
    for name, member in (("json", "JsonConfig"), ("csv", "CsvConfig"), ("yaml", "YamlConfig")):
        registry.announce("dataset", name, f"{__package__}.readers:{member}")
