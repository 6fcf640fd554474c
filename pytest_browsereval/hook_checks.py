"""Whether the hooks of a plug-in are ours, take what they are given, and are plain functions."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

from pytest_browsereval.contracts import describe_place
from pytest_browsereval.errors import nearest

if TYPE_CHECKING:
    import pytest

HOOKS = "pytest_browsereval_"
"""Begins the names of our hooks."""


def is_ours(plugin: object) -> bool:
    """Whether a plug-in is a module of this package, or an object of its classes."""
    module = plugin.__name__ if isinstance(plugin, ModuleType) else type(plugin).__module__
    return module.partition(".")[0] == __package__


def _list_arguments(manager: pytest.PytestPluginManager) -> dict[str, tuple[str, ...]]:
    """Return our hooks with the names of their arguments."""
    # Not `get_hookcallers`, which looks at every hook of pytest, for each of a hundred plug-ins.
    specs = {name: one.spec for name, one in vars(manager.hook).items() if name.startswith(HOOKS)}
    return {name: tuple(spec.argnames) for name, spec in specs.items() if spec is not None}


def list_wrong_hooks(plugin: object, manager: pytest.PytestPluginManager) -> Iterator[str]:
    """Yield what is wrong with a plug-in's hooks of ours, once it is registered.

    Args:
        plugin: a module, or an object with hooks.
        manager: knows which of its functions are hooks.
    """
    for name, caller in list(vars(manager.hook).items()):
        for hook in caller.get_hookimpls() if name.startswith(HOOKS) else ():
            if hook.plugin is not plugin or hook.optionalhook:
                continue
            place = describe_place(hook.function)
            if caller.spec is None:
                yield _describe_unknown(name, place, manager)
            elif inspect.iscoroutinefunction(hook.function) or inspect.isasyncgenfunction(hook.function):
                yield (
                    f"the hook {name}{place} is `async def`, and hooks are not awaited: it would do "
                    "nothing. Write `def`; what has to be awaited belongs into an agent, a tool or a grader."
                )


def list_refused_hooks(plugin: object, manager: pytest.PytestPluginManager) -> Iterator[str]:
    """Yield what is wrong with hooks of ours in a plug-in that pytest has refused to register."""
    arguments = _list_arguments(manager)
    for name in dir(plugin):
        function = getattr(plugin, name, None)
        if not name.startswith(HOOKS) or not callable(function):
            continue
        place = describe_place(function)
        if name not in arguments:
            yield _describe_unknown(name, place, manager)
            continue
        known = arguments[name]
        for argument in inspect.signature(function).parameters:
            if argument not in known:
                yield (
                    f"the hook {name}{place} takes {argument!r}, which is not one of its arguments."
                    f"{nearest(argument, known)} Its arguments: {', '.join(known)}; leave out those that you "
                    "do not need."
                )


def _describe_unknown(name: str, place: str, manager: pytest.PytestPluginManager) -> str:
    hooks = _list_arguments(manager)
    return f"there is no hook {name}{place}.{nearest(name, hooks)} Hooks: {', '.join(hooks)}."
