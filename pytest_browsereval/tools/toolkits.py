"""The catalog of toolkits and tools, and the switches that choose among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pytest_browsereval.errors import nearest
from pytest_browsereval.tools import finish, input, navigation, observation, pointer, scripting, tabs  # noqa: A004
from pytest_browsereval.tools.base import Tool


@dataclass(frozen=True)
class Toolkit:
    """Several tools behind one switch."""

    key: str
    label: str
    tools: tuple[Tool, ...]
    default_on: bool = True
    is_fixed: bool = False
    """True: it is always on."""


CATALOG: Mapping[str, Toolkit] = {
    kit.key: kit
    for kit in (
        Toolkit("navigation", "Addresses, history, waiting", navigation.TOOLS),
        Toolkit("observation", "Snapshot, text, picture", observation.TOOLS),
        Toolkit("input", "Clicks, keys and forms, by element", input.TOOLS),
        Toolkit("pointer", "Clicks and keys, by coordinates", pointer.TOOLS),
        Toolkit("tabs", "Several tabs", tabs.TOOLS),
        Toolkit("scripting", "JavaScript in the page", scripting.TOOLS, default_on=False),
        Toolkit("finish", "Ending with an answer", finish.TOOLS, is_fixed=True),
    )
}
"""The built-in toolkits, in the order in which a model sees them."""


def all_tool_names() -> tuple[str, ...]:
    """Return the names of all built-in tools."""
    return tuple(tool.name for kit in CATALOG.values() for tool in kit.tools)


def resolve_tools(switches: Mapping[str, bool], more: Iterable[Toolkit] = ()) -> tuple[Tool, ...]:
    """Return the tools that the switches leave on.

    A toolkit that is false beats its members; a toolkit that is true turns on every member that is not
    false itself; where the toolkit is not set, a member's own switch counts, then its default. Values
    other than true and false count as not set.

    Args:
        switches: booleans by the names of toolkits and tools.
        more: toolkits beside the built-in ones.

    Raises:
        ValueError: a switch has an unknown name, turns the finishing tool off, or two tools have one name.
    """
    kits = (*CATALOG.values(), *more)
    _check_names(kits)
    _check_switches(switches, kits)
    return tuple(tool for kit in kits for tool in kit.tools if _is_on(tool.name, kit, switches))


def _is_on(name: str, kit: Toolkit, switches: Mapping[str, bool]) -> bool:
    of_kit, of_tool = (
        value if isinstance(value, bool) else None for value in (switches.get(kit.key), switches.get(name))
    )
    if kit.is_fixed or of_kit is False:
        return kit.is_fixed
    if of_tool is not None:
        return of_tool
    return True if of_kit else kit.default_on


def _names(kits: Iterable[Toolkit]) -> Iterator[str]:
    for kit in kits:
        yield kit.key
        yield from (tool.name for tool in kit.tools)


def _check_names(kits: Iterable[Toolkit]) -> None:
    owners: dict[str, str] = {}
    for kit in kits:
        for name in (kit.key, *(tool.name for tool in kit.tools)):
            if name in owners:
                raise ValueError(
                    f"Two tools or toolkits are named {name!r}: one of the toolkit {owners[name]!r}, one of "
                    f"{kit.key!r}. Names are unique; rename one of them."
                )
            owners[name] = kit.key


def _check_switches(switches: Mapping[str, bool], kits: tuple[Toolkit, ...]) -> None:
    known = list(_names(kits))
    for name, value in switches.items():
        if name not in known:
            listed = "; ".join(f"{kit.key}: {', '.join(tool.name for tool in kit.tools)}" for kit in kits)
            raise ValueError(f"unknown tool or toolkit {name!r}.{nearest(name, known)} Known: {listed}.")
        fixed = any(kit.is_fixed and name in set(_names((kit,))) for kit in kits)
        if fixed and value is False:
            raise ValueError(f"{name!r} is false, but the finishing tool is always on. Leave {name!r} out.")
