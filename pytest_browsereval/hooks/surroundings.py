"""Which fixtures surround a row, learned as pytest sets them up: whether another row may run alongside it."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_browsereval.hooks.items import EvalItem

_NODES: dict[str, type[pytest.Collector]] = {
    "module": pytest.Module,
    "package": pytest.Package,
    "class": pytest.Class,
}
"""What a fixture of a wider scope lives for, if not for the session."""


class Surroundings:
    """Tells which rows have the same fixtures as the one that is up.

    There is no public way to see a fixture's scope before its setup. But what is up has had its setup, and
    rows that ask for the same names below the same conftests get the same fixtures.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._scopes: defaultdict[str, set[str]] = defaultdict(set)
        """The scopes wider than a function that a fixture's name has been set up with."""
        self._alone: pytest.Item | None = None
        """The last item that has had a function-scoped fixture of a conftest."""
        self._conftests_of: Callable[[Path], frozenset[Path]] = cache(
            lambda folder: frozenset(path for path in _conftests(config) if folder.is_relative_to(path))
        )

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: pytest.FixtureRequest) -> None:
        """Note a fixture's scope.

        A fixture counts as the item's own if it is function-scoped and comes from a conftest: those of
        plug-ins are autouse in some, and would make every row run alone.
        """
        if request.scope != "function":
            self._scopes[str(fixturedef.argname)].add(request.scope)
        elif _is_from_conftest(fixturedef.func):
            self._alone = request.node

    def is_alone(self, item: EvalItem) -> bool:
        """Whether an item that is up has a fixture of its own, so that nothing may run alongside it."""
        return self._alone is item

    def are_shared(self, up: EvalItem, other: EvalItem) -> bool:
        """Return whether all fixtures that an item needs are those of the one that is up."""
        if other.parent is up.parent and other.fixturenames == up.fixturenames:
            return True
        if self._conftests_of(up.path.parent) != self._conftests_of(other.path.parent):
            return False  # one of them may have another fixture of the same name
        scopes = {scope for name in other.fixturenames for scope in self._scopes.get(name, ())}
        same_nodes = all(_node_of(up, scope) is _node_of(other, scope) for scope in scopes)
        return same_nodes and set(other.fixturenames) <= set(up.fixturenames)


def _conftests(config: pytest.Config) -> list[Path]:
    """Return the folders of all conftests."""
    files = (getattr(plugin, "__file__", None) for plugin in config.pluginmanager.get_plugins())
    return [Path(file).parent for file in files if file and Path(file).name == "conftest.py"]


def _node_of(item: pytest.Item, scope: str) -> pytest.Collector | None:
    return item.getparent(_NODES[scope]) if scope in _NODES else None


def _is_from_conftest(function: Any) -> bool:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return code is not None and Path(code.co_filename).name == "conftest.py"
