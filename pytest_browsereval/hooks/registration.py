"""Members of all families, gathered from built-ins, installed packages and conftests."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval import members
from pytest_browsereval.errors import RegistryError
from pytest_browsereval.registry import OURS, Registry

GROUP = "pytest_browsereval"
"""The entry-point group of packages that bring members or hooks."""


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
        self._prefixes: dict[int, tuple[str, str]] = {}

    def fill(self) -> None:
        """Register the built-ins, then packages, then the conftests that are loaded.

        Raises:
            RegistryError: an entry point cannot be loaded, or members clash.
        """
        self._ask(members, OURS)
        for point in sorted(entry_points(group=GROUP), key=lambda p: p.name):
            self._load(point)
        for plugin in self._config.pluginmanager.get_plugins():
            self.late(plugin)

    def late(self, plugin: object) -> None:
        """Ask a plug-in that has come up, a sub-folder's conftest for example, unless it was asked."""
        if hasattr(plugin, "pytest_browsereval_register"):
            owner, prefix = self._prefixes.get(id(plugin), (self._describe(plugin), ""))
            self._ask(plugin, owner, prefix)

    def _load(self, point: EntryPoint) -> None:
        manager = self._config.pluginmanager
        if manager.is_blocked(point.name):
            return
        package = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        try:
            module = point.load()
            if manager.get_plugin(point.name) is None:
                manager.register(module, point.name)
        except Exception as error:
            raise RegistryError(
                f"the entry point {point.name!r} = {point.value!r} of {package} cannot be loaded: "
                f"{type(error).__name__}: {error}. Mend or uninstall the package, or leave it out with "
                f"-p no:{point.name}."
            ) from error
        self._prefixes[id(module)] = (package, point.name)
        self.packages.append(package)
        self.late(module)

    def _ask(self, plugin: Any, owner: str, prefix: str = "") -> None:
        if id(plugin) in self._asked:
            return
        self._asked.add(id(plugin))
        mine = Registry()
        plugin.pytest_browsereval_register(registry=mine)
        for family, name, member, aliases in mine.everything():
            if prefix and not name.startswith(f"{prefix}/"):
                raise RegistryError(
                    f"{owner} registers the {family} {name!r}. Members of an installed package are named "
                    f"'{prefix}/...', after its entry point; write type: Literal['{prefix}/{name}']."
                )
            self.registry.register(member, owner=owner, aliases=aliases)

    def _describe(self, plugin: object) -> str:
        file = getattr(plugin, "__file__", None)
        if file is None:
            return f"{type(plugin).__module__}.{type(plugin).__qualname__}"
        path = Path(file)
        root = self._config.rootpath
        return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)
