"""Switches of tools and toolkits: how they are written, and the table that resolves them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated

from pydantic import BeforeValidator

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


def is_on(tool: str, kits: Iterable[Toolkit], switches: Mapping[str, bool]) -> bool:
    """Return whether switches leave a tool on. The first line that applies decides.

    1. A toolkit that owns it is false: off, no matter what its own switch says.
    2. A toolkit that owns it is true: its own switch, on if that is not set.
    3. Its own switch.
    4. Nothing is set: off after ``only``, else on if a toolkit that owns it is by default.
    5. No toolkit owns it: off.

    Args:
        tool: its name.
        kits: all that switches may name.
        switches: by the names of tools and toolkits.
    """
    owners = [kit for kit in kits if tool in kit.names]
    if not owners or any(kit.is_fixed for kit in owners):
        return bool(owners)
    own = switches.get(tool)
    of_owners = [switches.get(kit.key) for kit in owners]
    if False in of_owners:
        return False
    if True in of_owners:
        return own is not False
    default = any(kit.default_on for kit in owners) and switches.get(OTHERS) is not False
    return default if own is None else own
