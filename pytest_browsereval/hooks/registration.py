"""Members of all families, gathered from built-ins, installed packages and conftests."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from pluggy import PluginValidationError

from pytest_browsereval import builtins as members
from pytest_browsereval.errors import RegistryError
from pytest_browsereval.hooks.hook_checks import find_refused_hooks, wrong_hooks
from pytest_browsereval.registry import OURS, Registry


class Registration:
    """Fills a registry by asking each plug-in once, in its own name.

    Args:
        config: whose plug-ins are asked.
    """

    def __init__(self, config: pytest.Config) -> None:
        self.registry = Registry()
        self.packages: list[str] = []
        """Installed packages that were loaded, ``name version``, for the header."""
        self._config = config
        self._asked: set[int] = set()
        self._packages: dict[int, tuple[str, str]] = {}
        """Owner and prefix of packages, by the module's identity."""

    def fill(self) -> None:
        """Register the built-ins, then packages, then the conftests that are loaded.

        Raises:
            RegistryError: an entry point cannot be loaded, or members clash.
        """
        self._ask(members, OURS)
        for point in members.find_entry_points():
            self._load(point)
        for _, plugin in self._config.pluginmanager.list_name_plugin():
            self.late(plugin)

    def late(self, plugin: object) -> None:
        """Ask a plug-in that has come up, a sub-folder's conftest for example, unless it was asked.

        Raises:
            RegistryError: its hook fails, or members clash.
        """
        if wrong := list(wrong_hooks(plugin, self._config.pluginmanager)):
            raise RegistryError("\n".join(wrong))
        if hasattr(plugin, "pytest_browsereval_register"):
            owner, prefix = self._packages.get(id(plugin), (self._describe(plugin), ""))
            self._ask(plugin, owner, prefix)

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

    def _ask(self, plugin: Any, owner: str, prefix: str = "") -> None:
        if id(plugin) not in self._asked:
            self._asked.add(id(plugin))
            members.hand_over(plugin, self.registry, owner=owner, prefix=prefix)

    def _describe(self, plugin: object) -> str:
        if getattr(plugin, "__name__", "").partition(".")[0] == "pytest_browsereval":  # a feature
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
