"""The built-in members of all families, handed over by the same door as everybody else's."""

from __future__ import annotations

from pytest_browsereval.registry import Registry


def pytest_browsereval_register(registry: Registry) -> None:
    """Register what this package brings, in the order in which messages and help list it."""
    from pytest_browsereval.datasets.files import CsvConfig, JsonConfig, YamlConfig
    from pytest_browsereval.datasets.jsonl import JsonLinesConfig
    from pytest_browsereval.graders.answer import AnswerGrader
    from pytest_browsereval.graders.command import CommandGrader
    from pytest_browsereval.graders.page_state import PageStateGrader
    from pytest_browsereval.graders.state_diff import StateDiffGrader

    registry.register(JsonLinesConfig, aliases=("browseros",))
    registry.register(JsonConfig)
    registry.register(CsvConfig)
    registry.register(YamlConfig)
    registry.register(AnswerGrader)
    registry.register(PageStateGrader)
    registry.register(StateDiffGrader)
    registry.register(CommandGrader)


def builtin_registry() -> Registry:
    """Return a registry with the built-in members only."""
    registry = Registry()
    pytest_browsereval_register(registry)
    return registry
