"""The built-in members of all families, handed over by the same door as everybody else's."""

from __future__ import annotations

from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register what this package brings, in the order in which messages and help list it."""
    from pytest_browsereval.datasets.files import CsvConfig, JsonConfig, YamlConfig
    from pytest_browsereval.datasets.jsonl import JsonLinesConfig

    registry.register(JsonLinesConfig, aliases=("browseros",))
    registry.register(JsonConfig)
    registry.register(CsvConfig)
    registry.register(YamlConfig)


def builtin_registry() -> Registry:
    """Return a registry with the built-in members only."""
    registry = Registry()
    pytest_browsereval_register(registry)
    return registry
