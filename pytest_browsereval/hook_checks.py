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


def list_wrong_hooks(plugin: object, manager: pytest.PytestPluginManager) -> Iterator[str]:
    """Yield what is wrong with a plug-in's hooks of ours, whether it is registered or was refused.

    pluggy refuses most of it too, but names neither the line nor what was meant.

    Args:
        plugin: a module, or an object with hooks.
        manager: knows our hooks.
    """
    for name in dir(plugin):
        options = manager.parse_hookimpl_opts(plugin, name) if name.startswith(HOOKS) else None
        if options is None or options.get("optionalhook"):
            continue
        function = getattr(plugin, name)
        place, spec = describe_place(function), getattr(getattr(manager.hook, name, None), "spec", None)
        if spec is None:
            known = [
                one for one, caller in vars(manager.hook).items() if one.startswith(HOOKS) and caller.spec
            ]
            yield f"there is no hook {name}{place}.{nearest(name, known)} Hooks: {', '.join(known)}."
            continue
        if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            yield (
                f"the hook {name}{place} is `async def`, but hooks are not awaited: it would do "
                "nothing. Write `def`; what has to be awaited belongs in an agent, a tool or a grader."
            )
        for argument in inspect.signature(function).parameters:
            if argument not in spec.argnames:
                yield (
                    f"the hook {name}{place} takes {argument!r}, which is not one of its arguments."
                    f"{nearest(argument, spec.argnames)} Its arguments: {', '.join(spec.argnames)}; leave "
                    "out those that you do not need."
                )
