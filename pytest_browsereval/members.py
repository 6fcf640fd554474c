"""The members of all families: the built-in ones and, by the same door, those of installed packages."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from pytest_browsereval.errors import RegistryError
from pytest_browsereval.registry import Registry

GROUP = "pytest_browsereval"
"""The entry-point group of packages that bring members or hooks."""


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
    for point in installed_points():
        with named_in_errors(point):
            module = point.load()
        if hasattr(module, "pytest_browsereval_register"):
            hand_over(module, registry, owner=owner_of(point), prefix=point.name)
    return registry


# -- one package at a time


def installed_points() -> list[EntryPoint]:
    """Return the entry points of installed packages, in an order that is the same everywhere."""
    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))


def owner_of(point: EntryPoint) -> str:
    """Return what messages call a package: its distribution's name and version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


@contextmanager
def named_in_errors(point: EntryPoint) -> Iterator[None]:
    """Have an error say which entry point of which package cannot be loaded, and the way out.

    Raises:
        RegistryError: in the place of any exception.
    """
    try:
        yield
    except Exception as error:
        raise RegistryError(
            f"the entry point {point.name!r} = {point.value!r} of {owner_of(point)} cannot be loaded: "
            f"{type(error).__name__}: {error}. Mend or uninstall the package; pytest leaves it out with "
            f"-p no:{point.name}."
        ) from error


def hand_over(plugin: Any, registry: Registry, *, owner: str, prefix: str = "") -> None:
    """Ask a plug-in for its members and register them in its own name.

    Args:
        plugin: has the hook ``pytest_browsereval_register``.
        registry: what is filled.
        owner: what messages call the plug-in.
        prefix: what the names of an installed package's members have to begin with, before a slash.

    Raises:
        RegistryError: the hook fails, a name lacks the prefix, or members clash.
    """
    mine = Registry(owner)
    try:
        plugin.pytest_browsereval_register(registry=mine)
    except RegistryError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        raise RegistryError(
            f"pytest_browsereval_register of {owner} fails: {type(error).__name__}: {error} "
            f"({last.filename}:{last.lineno}). Mend it."
        ) from error
    for family, name, member, aliases in mine.everything():
        for label in (name, *aliases):
            if prefix and not label.startswith(f"{prefix}/"):
                raise RegistryError(
                    f"{owner} registers the {family} {label!r}. Members of an installed package are named "
                    f"'{prefix}/...', after its entry point; write {prefix}/{label}."
                )
        registry.register(member, owner=owner, aliases=aliases)
