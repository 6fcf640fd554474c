"""Members of all families, gathered from built-ins, installed packages and conftests."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pluggy import PluginValidationError

from pytest_browsereval import builtins as members
from pytest_browsereval import hookspecs
from pytest_browsereval.contracts import describe_place
from pytest_browsereval.errors import RegistryError, nearest
from pytest_browsereval.registry import OURS, Registry

PREFIX = "pytest_browsereval_"
ARGUMENTS: dict[str, tuple[str, ...]] = {
    name: tuple(inspect.signature(spec).parameters)
    for name, spec in vars(hookspecs).items()
    if name.startswith(PREFIX)
}
"""Our hooks with the names of their arguments."""


def wrong_hooks(plugin: object, manager: pytest.PytestPluginManager) -> Iterator[str]:
    """Yield what is wrong with a plug-in's hooks of ours, once it is registered.

    Args:
        plugin: a module, or an object with hooks.
        manager: knows which of its functions are hooks.
    """
    # Not `get_hookcallers`, which looks at every hook of pytest, for each of a hundred plug-ins.
    for name, caller in list(vars(manager.hook).items()):
        if not name.startswith(PREFIX):
            continue
        for hook in caller.get_hookimpls():
            if hook.plugin is not plugin or hook.optionalhook:
                continue
            place = describe_place(hook.function)
            if name not in ARGUMENTS:
                yield _unknown(name, place)
            elif inspect.iscoroutinefunction(hook.function) or inspect.isasyncgenfunction(hook.function):
                yield (
                    f"the hook {name}{place} is `async def`, and hooks are not awaited: it would do "
                    "nothing. Write `def`; what has to be awaited belongs into an agent, a tool or a grader."
                )


def is_ours(plugin: object) -> bool:
    """Whether a plug-in is a module of this package, or an object of its classes."""
    module = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
    return module.partition(".")[0] == "pytest_browsereval"


def find_refused_hooks(plugin: object) -> Iterator[str]:
    """Yield what is wrong with hooks of ours in a plug-in that pytest has refused to register."""
    for name in dir(plugin):
        function = getattr(plugin, name, None)
        if not name.startswith(PREFIX) or not callable(function):
            continue
        place = describe_place(function)
        if name not in ARGUMENTS:
            yield _unknown(name, place)
            continue
        known = ARGUMENTS[name]
        for argument in inspect.signature(function).parameters:
            if argument not in known:
                yield (
                    f"the hook {name}{place} takes {argument!r}, which is not one of its arguments."
                    f"{nearest(argument, known)} Its arguments: {', '.join(known)}; leave out those that you "
                    "do not need."
                )


def _unknown(name: str, place: str) -> str:
    return f"there is no hook {name}{place}.{nearest(name, ARGUMENTS)} Hooks: {', '.join(ARGUMENTS)}."


class Registration:
    """Fills a registry by asking each plug-in once, in its own name.

    Args:
        config: whose plug-ins are asked.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.registry = Registry(find_left_out=self._find_left_out)
        self.packages: list[str] = []
        """Installed packages that were loaded, ``name version``, for the header."""
        self._config = config
        self._asked: dict[int, object] = {}
        """Plug-ins by their identity, kept alive so that it stays theirs."""
        self._packages: dict[int, tuple[str, str]] = {}
        """Owner and prefix of packages, by the module's identity."""

    def fill(self) -> None:
        """Register the built-ins, then packages, then the conftests that are loaded.

        Raises:
            RegistryError: an entry point cannot be loaded, or members clash.
        """
        members.hand_over(members, self.registry, owner=OURS)
        for point in members.find_entry_points():
            self._load(point)
        for _, plugin in self._config.pluginmanager.list_name_plugin():
            self.late(plugin)

    def late(self, plugin: object) -> None:
        """Ask a plug-in that has come up, a sub-folder's conftest for example, unless it was asked.

        Raises:
            RegistryError: its hook fails, or members clash.
        """
        if id(plugin) in self._asked:
            return
        self._asked[id(plugin)] = plugin
        if not is_ours(plugin) and (wrong := list(wrong_hooks(plugin, self._config.pluginmanager))):
            raise RegistryError("\n".join(wrong))
        if hasattr(plugin, "pytest_browsereval_register"):
            owner, prefix = self._packages.get(id(plugin), (self._describe(plugin), ""))
            members.hand_over(plugin, self.registry, owner=owner, prefix=prefix)

    def _load(self, point: EntryPoint) -> None:
        manager = self._config.pluginmanager
        if manager.is_blocked(point.name):
            return
        with members.name_in_errors(point):
            module = point.load()
            if manager.get_plugin(point.name) is None:
                _register(manager, module, point.name)
        owner = members.owner_of(point)
        self._packages[id(module)] = (owner, point.name)
        self.packages.append(owner)
        self.late(module)

    def _find_left_out(self, family: str, name: str) -> str:
        """Return the feature that was left out and would have brought a member; "" if none would."""
        feature = members.find_feature(family, name)
        return feature if feature and self._config.pluginmanager.is_blocked(feature) else ""

    def _describe(self, plugin: object) -> str:
        if is_ours(plugin):  # a feature
            return OURS
        file = getattr(plugin, "__file__", None)
        if file is None:
            return f"{type(plugin).__module__}.{type(plugin).__qualname__}"
        path = Path(file)
        root = self._config.rootpath
        return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _register(manager: pytest.PytestPluginManager, module: Any, name: str) -> None:
    try:
        manager.register(module, name)
    except PluginValidationError as error:
        wrong = list(find_refused_hooks(module))
        raise (RegistryError("\n".join(wrong)) if wrong else error) from None
