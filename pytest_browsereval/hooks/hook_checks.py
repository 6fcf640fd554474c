"""Checks hooks of plug-ins: misspelt names and wrong arguments."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import pytest

from pytest_browsereval import hookspecs
from pytest_browsereval.contracts import describe_place
from pytest_browsereval.errors import nearest

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
    for caller in manager.get_hookcallers(plugin) or ():
        if not caller.name.startswith(PREFIX):
            continue
        for hook in caller.get_hookimpls():
            if hook.plugin is not plugin or hook.optionalhook:
                continue
            place = describe_place(hook.function)
            if caller.name not in ARGUMENTS:
                yield _unknown(caller.name, place)
            elif inspect.iscoroutinefunction(hook.function) or inspect.isasyncgenfunction(hook.function):
                yield (
                    f"the hook {caller.name}{place} is `async def`, and hooks are not awaited: it would do "
                    "nothing. Write  def ; what has to be awaited belongs into an agent, a tool or a grader."
                )


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
                    f"the hook {name}{place} takes {argument!r}, which is no argument of it."
                    f"{nearest(argument, known)} Its arguments: {', '.join(known)}; leave out those that you "
                    "do not need."
                )


def _unknown(name: str, place: str) -> str:
    return f"there is no hook {name}{place}.{nearest(name, ARGUMENTS)} Hooks: {', '.join(ARGUMENTS)}."
