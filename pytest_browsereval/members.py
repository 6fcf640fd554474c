"""The built-in members of all families, handed over by the same door as everybody else's."""

from __future__ import annotations

from importlib.metadata import entry_points

from pytest_browsereval.errors import RegistryError
from pytest_browsereval.registry import Registry

GROUP = "pytest_browsereval"
"""The entry-point group of packages that bring members."""


def pytest_browsereval_register(registry: Registry) -> None:
    """Register what this package brings, in the order in which messages and help list it."""
    from pytest_browsereval.agents.function import FunctionConfig
    from pytest_browsereval.agents.noop import NoopConfig
    from pytest_browsereval.agents.scripted import ScriptedConfig
    from pytest_browsereval.agents.single import SingleConfig
    from pytest_browsereval.browsers.playwright import PlaywrightBrowserConfig
    from pytest_browsereval.datasets.files import CsvConfig, JsonConfig, YamlConfig
    from pytest_browsereval.datasets.jsonl import JsonLinesConfig
    from pytest_browsereval.graders.answer import AnswerGrader
    from pytest_browsereval.graders.command import CommandGrader
    from pytest_browsereval.graders.page_state import PageStateGrader
    from pytest_browsereval.graders.state_diff import StateDiffGrader

    registry.register(SingleConfig, aliases=("tool-loop",))
    registry.register(FunctionConfig)
    registry.register(ScriptedConfig)
    registry.register(NoopConfig)
    registry.register(PlaywrightBrowserConfig)
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


def installed_registry() -> Registry:
    """Return a registry with the built-in members and those of installed packages.

    Raises:
        RegistryError: a package cannot be loaded, or members clash.
    """
    registry = builtin_registry()
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
        owner = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        try:
            module = point.load()
        except Exception as error:
            raise RegistryError(
                f"the entry point {point.name!r} = {point.value!r} of {owner} cannot be loaded: "
                f"{type(error).__name__}: {error}. Mend or uninstall the package."
            ) from error
        own = Registry()
        if hasattr(module, "pytest_browsereval_register"):
            module.pytest_browsereval_register(registry=own)
        for _, _, member, aliases in own.everything():
            registry.register(member, owner=owner, aliases=aliases)
    return registry
