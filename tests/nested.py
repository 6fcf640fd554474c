"""Makes a pytest inside this one cheap: tests run fifteen hundred of them, each with a hundred plug-ins.

What pytest looks up anew for each is either looked up once, where it cannot change, or by a shorter way that
finds the same.
"""

from __future__ import annotations

import importlib.metadata
import inspect
import sys
from functools import cached_property
from importlib.metadata import PathDistribution
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import _pytest.fixtures
import pluggy
import pytest
from _pytest.fixtures import FixtureFunctionDefinition

OURS = str(Path(__file__).parent.parent / "pytest_browsereval")


def make_cheap() -> None:
    """Shorten what takes long in each pytest of this process that starts from now on."""
    _remember_packages()
    _remember_fixtures()
    _remember_arguments()
    _find_hooks_by_name()
    _remember_marks_of_hooks()
    _look_at_packages_for_their_names_only()


def _is_installed(place: str) -> bool:
    """Whether a file or folder stays as it is while tests run."""
    return place.startswith((sys.prefix, OURS))


class Package(PathDistribution):
    """An installed package whose files are read once."""

    entry_points = cached_property(PathDistribution.entry_points.fget)  # type: ignore[attr-defined]
    files = cached_property(PathDistribution.files.fget)  # type: ignore[attr-defined]
    metadata = cached_property(PathDistribution.metadata.fget)  # type: ignore[attr-defined]
    _normalized_name = cached_property(PathDistribution._normalized_name.fget)  # type: ignore[attr-defined]


def _remember_packages() -> None:
    known: dict[str, Package] = {}

    def package(path: Any) -> PathDistribution:
        place = str(path)
        if not _is_installed(place):
            return PathDistribution(path)
        return known.get(place) or known.setdefault(place, Package(path))

    importlib.metadata.PathDistribution = package  # type: ignore[assignment, misc]


def _remember_fixtures() -> None:
    """Look at each name of a plug-in once to see whether it is a fixture."""
    known: dict[object, list[str]] = {}

    def names(holder: object) -> list[str]:
        kind = holder if isinstance(holder, ModuleType) else type(holder)
        if kind not in known:
            module = sys.modules.get(kind.__name__ if isinstance(kind, ModuleType) else kind.__module__)
            if not _is_installed(getattr(module, "__file__", None) or ""):
                return dir(holder)
            known[kind] = [name for name in dir(kind) if _may_be_fixture(inspect.getattr_static(kind, name))]
        return known[kind]

    _pytest.fixtures.dir = names  # type: ignore[attr-defined]


def _may_be_fixture(value: object) -> bool:
    """Whether pytest makes a fixture of it or warns that it cannot."""
    wraps = "__wrapped__" in getattr(value, "__dict__", ())
    return wraps or isinstance(value, FixtureFunctionDefinition | staticmethod | classmethod)


def _remember_arguments() -> None:
    """Read the arguments of a hook once."""
    module: Any = sys.modules[pluggy.HookImpl.__module__]
    read = module.varnames
    known: WeakKeyDictionary[FunctionType, dict[bool, Any]] = WeakKeyDictionary()

    def remembered(hook: Any) -> Any:
        function = getattr(hook, "__func__", hook)
        if type(function) is not FunctionType:
            return read(hook)
        found = known.get(function)
        if found is None:
            found = known[function] = {}
        is_bound = function is not hook
        if is_bound not in found:
            found[is_bound] = read(hook)
        return found[is_bound]

    module.varnames = remembered


def _find_hooks_by_name() -> None:
    """Look only at names of a plug-in that pytest takes for hooks, and find plain functions without ado."""
    manager: Any = sys.modules[pluggy.PluginManager.__module__]
    manager.dir = lambda plugin: [name for name in dir(plugin) if name.startswith("pytest_")]
    find = getattr(manager, "_static_hook_attr", None)
    if find is None:  # an older pluggy, which takes a shorter way itself
        return

    def found(plugin: object, name: str) -> Any:
        if isinstance(plugin, ModuleType):
            if type(value := vars(plugin).get(name)) is FunctionType:
                return value, value
        elif not isinstance(plugin, type) and name not in getattr(plugin, "__dict__", (name,)):
            kind = type(plugin)
            value = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
            if type(value) is FunctionType:
                return value, value.__get__(plugin, kind)
        return find(plugin, name)

    manager._static_hook_attr = found


def _remember_marks_of_hooks() -> None:
    """Look once whether a hook without a decorator has one of pytest's old marks."""
    module: Any = sys.modules[pytest.PytestPluginManager.__module__]
    read = module._get_legacy_hook_marks
    known: WeakKeyDictionary[FunctionType, dict[str, bool]] = WeakKeyDictionary()

    def remembered(method: Any, hook_type: str, names: tuple[str, ...]) -> dict[str, bool]:
        function = getattr(method, "__func__", method)
        if type(function) is not FunctionType or hook_type != "impl":
            return read(method, hook_type, names)  # type: ignore[no-any-return]
        if function not in known:
            found = read(method, hook_type, names)
            if any(found.values()):  # each time with a warning
                return found  # type: ignore[no-any-return]
            known[function] = found
        return dict(known[function])  # pluggy adds to it

    module._get_legacy_hook_marks = remembered


def _look_at_packages_for_their_names_only() -> None:
    """Import what ``-p`` names by a module's full name without asking all packages whether it is one's."""
    load = pytest.PytestPluginManager.import_plugin

    def loaded(self: Any, modname: str, consider_entry_points: bool = False) -> None:  # noqa: FBT001, FBT002
        load(self, modname, consider_entry_points and "." not in modname)

    pytest.PytestPluginManager.import_plugin = loaded  # type: ignore[method-assign]
