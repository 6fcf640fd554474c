"""The catalog: what may be switched, as plain data, and the table that resolves switches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator

from pytest_browsereval.tools.base import Tool
from pytest_browsereval.tools.toolkit import Toolkit

OTHERS = "*"
"""In switches: all tools that nothing else in them is about."""


def read_switches(given: object) -> object:
    """Return switches in which ``only: [...]`` is written as booleans; anything else as it is.

    Raises:
        ValueError: ``only`` is not a list of names.
    """
    if not isinstance(given, Mapping) or "only" not in given:
        return given
    only = given["only"]
    if not isinstance(only, list | tuple) or not all(isinstance(name, str) for name in only):
        raise ValueError("`only` is a list of tools and toolkits: `tools: {only: [click, snapshot]}`")
    others = {name: value for name, value in given.items() if name != "only"}
    return {OTHERS: False, **dict.fromkeys(only, True), **others}


SwitchBlock = Annotated[
    dict[str, bool], BeforeValidator(read_switches, json_schema_input_type=dict[str, bool | list[str]])
]
"""A block of a config: switches by the names of tools and toolkits, or ``only`` those that are on."""


@dataclass(frozen=True)
class ToolEntry:
    """One tool, as a form or a report shows it."""

    key: str
    label: str
    description: str
    default_on: bool


@dataclass(frozen=True)
class ToolkitEntry:
    """One toolkit, as a form or a report shows it."""

    key: str
    label: str
    tools: tuple[str, ...]
    """The keys of its members; a tool may be a member of several toolkits."""
    default_on: bool
    is_fixed: bool = False
    owner: str = ""


@dataclass(frozen=True)
class Catalog:
    """All tools and toolkits that switches may name."""

    toolkits: tuple[ToolkitEntry, ...]
    tools: tuple[ToolEntry, ...]

    @classmethod
    def of(cls, kits: Iterable[Toolkit]) -> Catalog:
        """Return the catalog of toolkits; a tool is on by default if one that owns it is."""
        kits = tuple(kits)
        tools = {tool.name: tool for kit in kits for tool in kit.tools}
        return cls(
            tuple(
                ToolkitEntry(kit.key, kit.label, kit.names, kit.default_on, kit.is_fixed, kit.owner)
                for kit in kits
            ),
            tuple(
                ToolEntry(
                    name,
                    name.replace("_", " ").capitalize(),
                    tool.description,
                    any(kit.default_on for kit in kits if name in kit.names),
                )
                for name, tool in tools.items()
            ),
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain JSON: nothing in it runs, so that it may be handed to any client."""
        return {
            "toolkits": [{**asdict(kit), "tools": list(kit.tools)} for kit in self.toolkits],
            "tools": [asdict(tool) for tool in self.tools],
        }

    def is_on(self, tool: str, switches: Mapping[str, object]) -> bool:
        """Return whether switches leave a tool on. The first line that applies decides.

        1. A toolkit that owns it is false: off, whatever its own switch says.
        2. A toolkit that owns it is true: its own switch, on if that is not set.
        3. Its own switch.
        4. Nothing is set: off after ``only``, else its default.
        5. It is not in the catalog: off.

        Args:
            tool: its key.
            switches: by the keys of tools and toolkits; what is neither true nor false is not set.
        """
        entry = next((entry for entry in self.tools if entry.key == tool), None)
        owners = [kit for kit in self.toolkits if tool in kit.tools]
        if entry is None or any(kit.is_fixed for kit in owners):
            return entry is not None
        own = _set(switches, tool)
        of_owners = [_set(switches, kit.key) for kit in owners]
        if False in of_owners:
            return False
        if True in of_owners:
            return True if own is None else own
        default = entry.default_on and _set(switches, OTHERS) is not False
        return default if own is None else own

    def filter_tools(self, tools: Iterable[Tool], switches: Mapping[str, object]) -> tuple[Tool, ...]:
        """Return the tools that pass at run time: those that are on and those outside the catalog."""
        known = {entry.key for entry in self.tools}
        return tuple(tool for tool in tools if tool.name not in known or self.is_on(tool.name, switches))


def _set(switches: Mapping[str, object], key: str) -> bool | None:
    value = switches.get(key)
    return value if isinstance(value, bool) else None
